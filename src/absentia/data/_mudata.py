"""MuData and AnnData: views out of their modalities, kernels out of obsp, and results back into them.

Everything is lined up by the names of observations.  Both packages are only imported where an object has
to be made; one that is given brings its own methods.
"""

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from absentia.core import Array, get_factors, warn
from absentia.data._ids import AbsenceWarning, find_duplicates, show_id
from absentia.data._inputs import ViewTable, check_codes, is_frame, make_view_table, prefers_factors

if TYPE_CHECKING:
    from absentia.data._presence import Presence

KeyByModality = str | Mapping[str, str] | None
_PREFIX = "absentia"
COMPLETED_LAYER = f"{_PREFIX}_completed"  # values of absent samples too
_LEVELS = f"{_PREFIX}_levels"  # column of var: a JSON list of the levels whose numbers X holds


def is_mudata(data: Any) -> bool:
    return isinstance(getattr(data, "mod", None), Mapping)


def is_anndata(data: Any) -> bool:
    return all(hasattr(data, name) for name in ("obs_names", "var_names", "layers", "obsm", "obsp"))


# ---------------------------------------------------------------------------------------------------- in


def mudata_parts(
    mdata: Any, layer: KeyByModality, use_rep: KeyByModality
) -> tuple[tuple[str, ...], list[ViewTable]]:
    """The modalities of a MuData object as views."""
    if not is_mudata(mdata):
        raise ValueError(f"a MuData object is wanted, not {type(mdata).__name__}")
    if not mdata.mod:
        raise ValueError("no modality is in this MuData; at least one is wanted")
    layers, reps = _by_modality(mdata, layer, "layer"), _by_modality(mdata, use_rep, "use_rep")
    layers = _where_there(mdata, layers, "layers", isinstance(layer, str))
    reps = _where_there(mdata, reps, "obsm", isinstance(use_rep, str))
    parts = [_part(name, one, layers.get(name), reps.get(name)) for name, one in mdata.mod.items()]
    return tuple(mdata.mod), parts


def anndata_parts(
    adata: Any, layer: str | None, use_rep: str | None, name: str | None = None
) -> tuple[tuple[str, ...], list[ViewTable]]:
    """An AnnData object as one view."""
    if not is_anndata(adata) or is_mudata(adata):
        raise ValueError(f"an AnnData object is wanted, not {type(adata).__name__}")
    name = name or use_rep or layer or "X"
    return (name,), [_part(name, adata, layer, use_rep)]


def _by_modality(mdata: Any, source: KeyByModality, what: str) -> dict[str, str]:
    """What to take of each modality: one word for all, or a mapping."""
    if source is None:
        return {}
    if isinstance(source, str):
        return dict.fromkeys(mdata.mod, source)
    if unknown := [name for name in source if name not in mdata.mod]:
        raise ValueError(f"{what}: there is no modality {unknown[0]!r} but {list(mdata.mod)}")
    return dict(source)


def _where_there(mdata: Any, said: dict[str, str], where: str, for_all: bool) -> dict[str, str]:
    """What to take, of the modalities that have it, if one word was said for all; X of the others."""
    has = [name for name, key in said.items() if key in getattr(mdata.mod[name], where)]
    if not for_all or not has or len(has) == len(said):
        return said  # what nobody has, or one that was named has not, is an error later
    lacking = [name for name in said if name not in has]
    key, noun = said[has[0]], "modality" if len(lacking) == 1 else "modalities"
    warn(
        f"{noun} {', '.join(map(repr, lacking))}: {where} holds no {key!r}, and X is taken; to be "
        f"told of it as an error, name the modalities, as in {has[0]}={key}",
        AbsenceWarning,
    )
    return {name: said[name] for name in has}


def _part(name: str, adata: Any, layer: str | None, use_rep: str | None) -> ViewTable:
    if layer is not None and use_rep is not None:
        raise ValueError(
            f"view {name!r}: layer={layer!r} and use_rep={use_rep!r} exclude one another; give one"
        )
    if use_rep is not None:
        values = _entry(name, adata.obsm, use_rep, "obsm")
        columns = values.columns if is_frame(values) else [f"{use_rep}_{j}" for j in range(values.shape[1])]
        values = values.to_numpy() if is_frame(values) else values
        return make_view_table(name, adata.obs_names, values, columns)
    values = adata.X if layer is None else _entry(name, adata.layers, layer, "layers")
    if values is None:
        there = f"layers {_keys(adata.layers)}, obsm {list(adata.obsm)}"
        raise ValueError(f"view {name!r} has no X; name a layer or use_rep ({there})")
    levels = _levels(name, adata, values) if layer in (None, COMPLETED_LAYER) else {}
    return make_view_table(name, adata.obs_names, values, adata.var_names, levels)


def _levels(name: str, adata: Any, values: Any) -> dict[str, tuple[str, ...]]:
    """The levels of categories whose numbers are in X, as :func:`_make_mudata` writes them."""
    if _LEVELS not in adata.var.columns:
        return {}
    features, found = [str(x) for x in adata.var_names], {}
    for feature, text in zip(features, adata.var[_LEVELS].tolist(), strict=True):
        if not isinstance(text, str) or not text:
            continue
        try:
            levels = json.loads(text)
        except (ValueError, RecursionError):
            levels = None
        if not isinstance(levels, list) or not all(isinstance(level, str) for level in levels):
            raise ValueError(
                f"view {name!r}, column {feature!r}: var[{_LEVELS!r}] is {text[:40]!r}; a JSON list of the "
                "levels is wanted"
            )
        check_codes(name, feature, features, values, levels)
        found[feature] = tuple(levels)
    return found


def _entry(name: str, entries: Any, key: str, where: str) -> Any:
    if key not in entries:
        raise ValueError(f"view {name!r}: {where} holds no {key!r} but {_keys(entries) or 'nothing'}")
    return entries[key]


def _keys(entries: Any) -> list[str]:
    """Names of entries; anndata from 0.13 on has X among the layers, as None."""
    return [key for key in entries if key is not None]


def obsp_blocks(data: Any, use_rep: KeyByModality) -> dict[str, tuple[Array, Array]] | None:
    """Kernels by view, if `use_rep` names entries of obsp; None if it names none.

    Of a MuData object: in every modality that is named, or of the whole; ``absentia_*`` stands for several.
    """
    if use_rep is None:
        return None
    if is_mudata(data):
        reps = _by_modality(data, use_rep, "use_rep")
        pairs = {name: (data.mod[name], key) for name, key in reps.items() if key in data.mod[name].obsp}
        if pairs and len(pairs) < len(reps):
            lacking = sorted(set(reps) - set(pairs))
            raise ValueError(
                f"modalities {lacking} have no kernel {use_rep!r} in obsp, others have; name them"
            )
    else:
        pairs = {str(use_rep): (data, str(use_rep))} if use_rep in data.obsp else {}
    if not pairs and isinstance(use_rep, str):
        pairs = {key: (data, key) for key in data.obsp if fnmatchcase(key, use_rep)}
    for name, (one, key) in pairs.items():
        if key in one.obsm:
            raise ValueError(f"view {name!r}: {key!r} is in obsm and in obsp; rename one")
    blocks = {}
    for name, (one, key) in pairs.items():
        K = one.obsp[key].toarray() if scipy.sparse.issparse(one.obsp[key]) else one.obsp[key]
        blocks[name.removeprefix(f"{_PREFIX}_") or name] = (one.obs_names, np.asarray(K))
    return blocks or None


# --------------------------------------------------------------------------------------------------- out


def write_into(
    data: "Presence",
    into: Any,
    embedding: Any,
    obs: Mapping[str, Any],
    observed: "Presence | None",
    copy: bool,
) -> Any:
    """`into`, or a copy of it, with what `data` knows; see :meth:`Presence.to_mudata`."""
    if into is not None and not (is_mudata(into) or is_anndata(into)):
        raise ValueError(f"a MuData or AnnData object is wanted, not {type(into).__name__}")
    if into is None:
        target = _make_mudata(data)
    else:
        with quiet():
            target = into.copy() if copy else into
    own = _texts(data.ids, "the samples")
    columns = _presence_columns(data, target, data if observed is None else observed, observed is None)
    columns |= {name: _line_up(values, own, target, f"obs {name!r}")[0] for name, values in obs.items()}
    spaces = embedding if isinstance(embedding, Mapping) else {} if embedding is None else {"": embedding}
    tables = {}
    for key, values in spaces.items():
        table = _line_up(values, own, target, "embedding").to_numpy(float)
        tables[f"X_{_PREFIX}_{key}" if key else f"X_{_PREFIX}"] = table
    kernels: dict[str, Array] = {}
    if hasattr(data, "check_square"):  # of features there is nothing more to put there
        data.check_square()
        places = target.obs_names.get_indexer(own)
        if prefers_factors(data):
            _add_factors(data, places, len(target.obs_names), tables, columns)
        else:
            kernels = _pad_kernels(data, places, len(target.obs_names))
    for name, column in columns.items():  # nothing is changed before all is known to fit
        target.obs[name] = np.asarray(column)
    for name, table in tables.items():
        target.obsm[name] = table
    for name, K in kernels.items():
        target.obsp[f"{_PREFIX}_{name}"] = K
        if is_mudata(target) and name in target.mod:  # the part over the samples that it has
            part = target.mod[name]
            rows = target.obs_names.get_indexer(part.obs_names)
            part.obsp[f"{_PREFIX}_{name}"] = K[np.ix_(rows, rows)]
    return target


def _texts(ids: Any, what: str) -> list[str]:
    """Ids as texts, which the names of observations are."""
    texts = [str(x) for x in np.asarray(ids).tolist()]
    if twice := find_duplicates(texts):
        raise ValueError(
            f"{what}: {len(twice)} id(s) appear more than once as texts, e.g. {show_id(twice[0])}"
        )
    return texts


def _line_up(values: Any, own: list[str], target: Any, what: str) -> Any:
    """Values as a frame over the observations of `target`, by index or in the order of the samples."""
    import pandas as pd

    if hasattr(values, "iloc"):
        frame = pd.DataFrame(values).set_axis(_texts(values.index, what), axis=0)
    elif len(values) != len(own):
        raise ValueError(f"{what} has {len(values)} rows for {len(own)} samples; one for each is wanted")
    else:
        frame = pd.DataFrame(values if np.ndim(values) > 1 else {0: values})
        frame.index = pd.Index(own)
    _texts(target.obs_names, "the observations")
    strange = frame.index[~frame.index.isin(target.obs_names)]
    if len(strange):
        raise ValueError(
            f"{what}: {len(strange)} of {len(frame)} samples, e.g. "
            f"{', '.join(map(repr, strange[:3]))}, are no "
            "observations there (which are called as "
            f"{', '.join(map(repr, target.obs_names[:3]))}); give the "
            "object that the data came from"
        )
    frame.columns = pd.RangeIndex(frame.shape[1])
    return frame.reindex(target.obs_names)


def _presence_columns(data: "Presence", target: Any, observed: "Presence", alone: bool) -> dict[str, Array]:
    if lacking := [name for name in data.names if name not in observed.names]:
        raise ValueError(f"observed has no view {lacking[0]!r}; its views are {list(observed.names)}")
    seen = _line_up(
        observed.observed.astype(float), _texts(observed.ids, "observed"), target, "the samples"
    )
    found = {}
    for name in data.names:
        column = seen[observed.names.index(name)].to_numpy() == 1  # NaN, of strangers, is not
        if alone and is_mudata(target) and name in target.mod:
            column &= np.asarray(target.obs_names.isin(target.mod[name].obs_names))
        found[f"{_PREFIX}_{name}_observed"] = column
    return found


def _pad_kernels(data: Any, places: Array, size: int) -> dict[str, Array]:
    """Kernels over `size` observations, NaN but for the samples, which stand at `places`."""
    kernels = {}
    for name in data.names:
        kernels[name] = np.full((size, size), np.nan)
        kernels[name][np.ix_(places, places)] = data.padded(name, np.arange(len(places)))
    return kernels


def _add_factors(
    data: Any, places: Array, size: int, tables: dict[str, Array], columns: dict[str, Array]
) -> None:
    """Factors over `size` observations to the tables, and what they lack of the diagonal to the columns."""
    for name, has in zip(data.names, data.observed.T, strict=True):
        Phi, added = get_factors(data.operator(name))
        full = np.full((size, Phi.shape[1]), np.nan, Phi.dtype)
        full[places[has]] = Phi
        tables[f"{_PREFIX}_{name}_factors"] = full
        if added is not None and added.any():
            column = columns[f"{_PREFIX}_{name}_own"] = np.zeros(size)
            column[places[has]] = added


def _make_mudata(data: Any) -> Any:
    """A new MuData of the views: their features, or for kernels the samples alone."""
    try:
        import anndata
        import mudata
        import pandas as pd
    except ImportError as error:
        raise ImportError('MuData objects need mudata: pip install "absentia[io]"') from error
    ids, parts = pd.Index(_texts(data.ids, "the samples")), {}
    with quiet():
        for name, seen in zip(data.names, data.observed.T, strict=True):
            samples = pd.DataFrame(index=ids[seen])
            if hasattr(data, "features"):
                block, features = data.block(name), data.features(name)
                called = range(block.shape[1]) if features is None else features
                var = pd.DataFrame(index=pd.Index([str(x) for x in called]))
                if levels := data.levels(name):
                    var[_LEVELS] = [json.dumps(levels[x]) if x in levels else "" for x in var.index]
                parts[name] = anndata.AnnData(block.copy(), obs=samples, var=var)
            else:
                parts[name] = anndata.AnnData(obs=samples)
        return mudata.MuData(parts)


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of mudata and anndata about their own changes."""
    with warnings.catch_warnings(), ExitStack() as stack:
        warnings.simplefilter("ignore")
        with suppress(ImportError):
            import mudata

            # before 0.4, columns of modalities are copied to the whole unless told otherwise
            if hasattr(mudata, "set_options"):
                stack.enter_context(mudata.set_options(pull_on_update=False))
        yield
