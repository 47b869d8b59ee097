"""What flows: samples, views, who has which."""

from absentia.data._coding import Coding
from absentia.data._features import (
    column_scales,
    columns_in_words,
    joined,
    looks_like_counts,
    named,
    numeric,
    without_features,
)
from absentia.data._ids import AbsenceWarning, as_ids, check_unique, normal_id, repeated, shown
from absentia.data._kernel_checks import by_factors, check_kernel
from absentia.data._kernel_pca import Components, fused_components
from absentia.data._kernelviews import KernelViews, check_kernels
from absentia.data._leakage import find_leaks, find_repeats
from absentia.data._mudata import is_anndata, is_mudata, obsp_blocks, quiet
from absentia.data._order import (
    MANY,
    Ordering,
    Table,
    canonical,
    feature_profiles,
    folds,
    kernel_profiles,
    ordered,
    ordering,
    own_order,
    rounded,
    sample_order,
    some_of,
    suited_folds,
    table_profile,
)
from absentia.data._presence import (
    Presence,
    check_names,
    check_observed,
    default_names,
    refusal,
    warn_of_strangers,
)
from absentia.data._tables import ID_COLUMNS
from absentia.data._views import Views
