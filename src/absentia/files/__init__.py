"""Files in and out.  Nothing is ever unpickled, and output appears whole or not at all."""

from absentia.files._anndata import read_mudata, write_mudata
from absentia.files._archive import read_arrays, write_arrays
from absentia.files._atomic import remove_unfinished, write_whole
from absentia.files._contents import arrays_of, label_array
from absentia.files._errors import FileError, one_line, reading
from absentia.files._frames import parse_groups
from absentia.files._labels import Labels, read_labels
from absentia.files._mat import mat_content
from absentia.files._memory import parse_bytes
from absentia.files._npz import from_arrays, is_data
from absentia.files._options import LabelsSource, Opened, Options
from absentia.files._reading import open_data, read
from absentia.files._rows import against, read_new
from absentia.files._states import holds_model, read_state, write_state
from absentia.files._tables import Matrix, csv_rows, holds_matrix, read_matrix, write_csv
from absentia.files._writing import is_own_file, write
