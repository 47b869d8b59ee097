"""What flows: samples, views, who has which."""

from absentia.data._chunked_views import ChunkedTable, Moments
from absentia.data._features import (
    MAX_DEVIATION,
    Coding,
    DataSummary,
    FeatureSummary,
    ViewCoding,
    add_views,
    column_scales,
    concatenate_features,
    dense_chunks,
    drop_features,
    looks_like_counts,
    name_features,
    replace_features,
)
from absentia.data._ids import (
    WAYS_TO_DIFFER,
    AbsenceWarning,
    as_ids,
    check_unique_ids,
    find_duplicates,
    is_missing,
    match_ids,
    normalize_id,
    show_id,
)
from absentia.data._inputs import ID_COLUMNS, check_kernel, make_index, prefers_factors
from absentia.data._kernelviews import KernelViews, check_square_kernels
from absentia.data._leakage import find_leaks, find_repeats
from absentia.data._mudata import COMPLETED_LAYER, is_anndata, is_mudata, obsp_blocks, quiet
from absentia.data._order import (
    MANY_SAMPLES,
    CanonicalOrder,
    OrderTable,
    choose_n_folds,
    count_fewest,
    count_groups,
    feature_profiles,
    kernel_profiles,
    make_folds,
    make_time_folds,
    number_groups,
    order_by_profiles,
    order_for_learning,
    order_kernels,
    order_tables,
    parse_times,
    round_sizes,
    stack_groups,
    subsample_classes,
    table_profile,
)
from absentia.data._presence import (
    Presence,
    check_names,
    check_observed,
    default_names,
    input_error,
    name_pattern,
    warn_of_unlinked,
)
from absentia.data._views import Views
