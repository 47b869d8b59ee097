"""Search model files for the rows of training samples."""

import numpy as np


def read_floats(path):
    """Every array of floating-point numbers in a file."""
    with np.load(path) as members:
        return [members[key].astype(float) for key in members.files if members[key].dtype.kind == "f"]


def _forms(block):
    """A view as it came and as models standardise it, in both precisions."""
    deviation = np.where(block.std(axis=0) > 0, block.std(axis=0), 1.0)
    standard = (block - block.mean(axis=0)) / deviation
    lengths = np.linalg.norm(standard, axis=1, keepdims=True)
    return [block, standard, np.clip(standard, -3, 3), standard / lengths]


def _pairs(values):
    """Neighbours along both axes, rounded to what single precision keeps; not zeros and clipped values."""
    values = np.atleast_2d(values)
    found = set()
    for table in (values, values.T):
        rounded = np.array([f"{x:.5e}" for x in table.ravel()]).reshape(table.shape)
        keep = (table != 0) & (np.abs(table) != 3) & (np.abs(table) != 1)
        keep = keep[:, :-1] & keep[:, 1:]
        found |= set(zip(rounded[:, :-1][keep], rounded[:, 1:][keep], strict=True))
    return found


def count_rows(path, views):
    """Rows of `views` of which two values next to one another stand side by side in the file, in any form."""
    stored = set().union(*(_pairs(array) for array in read_floats(path)))
    count = 0
    for name in views.names:
        forms = _forms(np.asarray(views.block(name)))
        count += sum(any(_pairs(form[i]) & stored for form in forms) for i in range(len(forms[0])))
    return count


def count_columns(path, views):
    """Features whose values over the samples, clipped or not, are in the file but for order, shift and scale.

    The arrays are searched along every axis that is as long as a view has samples.
    """
    found = 0
    for name in views.names:
        block = np.asarray(views.block(name))
        clipped = np.clip((block - block.mean(axis=0)) / block.std(axis=0), -3, 3)
        wanted, hits = (
            np.stack([_normal_form(block), _normal_form(clipped)]),
            np.zeros(block.shape[1], bool),
        )
        for array in read_floats(path):
            for axis in range(array.ndim):
                if array.shape[axis] == len(block) > 3:
                    columns = np.moveaxis(array, axis, 0).reshape(len(block), -1)
                    columns = columns[:, np.isfinite(columns).all(axis=0) & (columns.std(axis=0) > 0)]
                    for form in (_normal_form(columns), _normal_form(-columns)):
                        gaps = np.abs(wanted[..., None] - form[:, None]).max(
                            axis=1
                        )  # forms x features x columns
                        hits |= (gaps < 1e-6).any(axis=(0, 2))
        found += int(hits.sum())
    return found


def _normal_form(columns):
    """Columns sorted, of mean zero and unit deviation."""
    columns = np.sort(columns, axis=0)
    return (columns - columns.mean(axis=0)) / columns.std(axis=0)
