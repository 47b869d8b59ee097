"""Files in and out.  Nothing is ever unpickled, and output appears whole or not at all."""

from absentia.core import parse_bytes
from absentia.files._annotated import read_mudata, write_mudata
from absentia.files._archive import read_arrays, write_arrays
from absentia.files._base import (
    FileError,
    LoadedData,
    Options,
    file_errors,
    one_line,
    remove_unfinished,
    write_atomically,
)
from absentia.files._chunks import open_table
from absentia.files._columns import csv_rows
from absentia.files._frames import parse_groups
from absentia.files._labels import Labels, read_covariates, read_groups, read_labels
from absentia.files._mat import mat_content
from absentia.files._matrix import Matrix, holds_matrix, read_matrix, write_csv
from absentia.files._npz import from_arrays, is_data
from absentia.files._outputs import holds_model, is_written_by_absentia, read_state, write, write_state
from absentia.files._reading import open_data, read, read_container, read_label_array, read_new
from absentia.files._tables import read_cells
