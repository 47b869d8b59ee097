"""Inspecting a fitted classifier: what its decisions rest on, and what would make them surer; and data.

:func:`absence` takes views, and says why some are absent; :func:`shift` compares new views with those of
training.  Every other function takes a fitted classifier of absentia, a :class:`absentia.models.Model` as
``absentia fit`` writes it, or a pipeline that ends in a classifier, and gives a pandas data frame.
"""

from absentia.methods.inspection._absence import Absence, PatternScore, absence
from absentia.methods.inspection._contributions import contributions, feature_importance, support
from absentia.methods.inspection._plan import plan, value_of_views
from absentia.methods.inspection._shift import Remark, Shift, shift
