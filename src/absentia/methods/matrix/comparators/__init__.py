"""What probabilistic matrix addition is compared with.

All take Y, or a matrix, with NaN where unknown.  Rows and columns are put in the order of ``_order`` first,
so that no answer depends on the order in which they came: not the starting factors and hidden entries of
`PMF`, nor which of equally near neighbours counts.
"""

from absentia.methods.matrix.comparators._covariances import LabelGP, MatrixLMC
from absentia.methods.matrix.comparators._factors import PMF
from absentia.methods.matrix.comparators._machines import PartialLabelSVM
from absentia.methods.matrix.comparators._neighbours import IBLR, MLKNN
