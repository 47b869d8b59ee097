"""What flows: samples, views, who has which."""

from absentia.data._back import labelled
from absentia.data._canonical import Table, canonical
from absentia.data._coding import Coding
from absentia.data._fusing import fused
from absentia.data._gaps import AbsenceWarning, shown, warn_of_strangers
from absentia.data._ids import as_ids, check_unique, normal_id, repeated
from absentia.data._joined import column_scales, joined
from absentia.data._kernel_checks import by_factors, check_kernel
from absentia.data._kernelviews import KernelViews, check_kernels
from absentia.data._kinds import columns_in_words, looks_like_counts, numeric
from absentia.data._leaks import find_leaks
from absentia.data._mudata import is_anndata, is_mudata, obsp_blocks, quiet
from absentia.data._naming import named, without_features
from absentia.data._order import Ordering, ordered, ordering, rounded
from absentia.data._presence import Presence, check_names, check_observed, default_names
from absentia.data._profiles import (
    MANY,
    feature_profiles,
    folds,
    kernel_profiles,
    own_order,
    sample_order,
    some_of,
    suited_folds,
    table_profile,
)
from absentia.data._refusals import refusal
from absentia.data._repeats import find_repeats
from absentia.data._tables import ID_COLUMNS
from absentia.data._views import Views
