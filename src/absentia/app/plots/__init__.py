"""Pictures, drawn with Matplotlib (the extra ``plots``), after scikit-learn's pattern for displays.

``SomethingDisplay.from_...(...)`` takes what there is to show and draws it; ``.plot(ax=)`` draws it again,
into axes of yours.  A display keeps its numbers as attributes, beside ``ax_`` and ``figure_``, and
``.save("figure.pdf", width="single")`` writes it at the width of a journal's column.  Colours can be told
apart by people who see colours differently, and are never the only sign.
"""

from absentia.app.plots._base import Display
from absentia.app.plots._data import (
    AbsenceDisplay,
    EmbeddingDisplay,
    KernelDisplay,
    PatternDisplay,
    PresenceDisplay,
    ValuesDisplay,
)
from absentia.app.plots._models import (
    CalibrationDisplay,
    ComparisonDisplay,
    ContributionDisplay,
    CoverageDisplay,
    CriticalDifferenceDisplay,
    ImportanceDisplay,
    LearningCurveDisplay,
    PlanDisplay,
    SurvivalDisplay,
    WeightDisplay,
)
