"""The made-up cohort: as many patients and gaps as it says, and a truth that can be learned."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import AverageKernelSVC, ViewKernels, Views
from absentia.data import AbsenceWarning
from absentia.datasets import make_cohort, write_cohort
from absentia.files import FileError


def test_views_and_labels_have_the_gaps_that_are_wanted():
    cohort = make_cohort()
    views = Views.from_dict(cohort.tables)
    assert len(views) == 159
    assert dict(zip(views.names, views.observed.sum(axis=0).tolist(), strict=True)) == {
        "expression": 129,
        "methylation": 118,
        "clinical": 145,
    }
    assert views.observed.any(axis=1).all()
    assert set(views.levels("clinical")) == {"sex", "stage", "ER"}
    known = cohort.labels["subtype"].isin(["Basal", "Her2", "LumA"])
    assert known[cohort.labels.index.isin(views.ids)].sum() == 140
    assert [x for x in cohort.labels.index if x not in set(views.ids)] == ["P-1013"]


def test_new_patients_come_with_other_columns():
    cohort = make_cohort()
    old, new = cohort.tables["expression"].columns, cohort.new["expression"].columns
    assert len(set(old) - set(new)) == 3
    assert set(new) - set(old) == {"gene_999"}
    assert list(new[:20]) != sorted(new[:20])
    assert not set(cohort.new_labels.index) & set(cohort.labels.index)


def test_the_truth_can_be_learned_and_the_same_seed_gives_the_same_cohort():
    cohort = make_cohort(3)
    views, y = Views.from_dict(cohort.tables), cohort.labels["subtype"]
    rows = [i for i, x in enumerate(views.ids.tolist()) if y[x] in ("Basal", "Her2", "LumA")]
    kernels = ViewKernels()
    truth = np.array([y[x] for x in views.ids[rows].tolist()])
    model = AverageKernelSVC().fit(kernels.fit_transform(views[rows]), truth)
    new = Views.from_dict(cohort.new)
    with pytest.warns(AbsenceWarning, match="3 missing"):
        predicted = model.predict(kernels.transform(new))
    assert np.mean(predicted == cohort.new_labels["subtype"][new.ids.tolist()]) > 0.7
    assert make_cohort(3).tables["clinical"].equals(cohort.tables["clinical"])


def test_files_are_written_into_new_folders_only(tmp_path):
    written = write_cohort(tmp_path / "a", tmp_path / "b")
    assert sorted(str(p.relative_to(tmp_path)) for p in written) == [
        f"{folder}/{name}.csv"
        for folder in "ab"
        for name in ("clinical", "expression", "labels", "methylation")
    ]
    assert (tmp_path / "a" / "labels.csv").read_text().startswith("patient,subtype\nP-0001,")
    with pytest.raises(FileError, match="is there already; give the name of a new folder"):
        write_cohort(tmp_path / "c", tmp_path / "b")
    assert not (tmp_path / "c").exists()


def discrimination(table, subtype, name):
    """How well a view alone tells a subtype from the others: area under the curve of held-out patients."""
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01))
    return cross_val_score(model, table, subtype[table.index] == name, scoring="roc_auc").mean()


def test_each_view_tells_a_subtype_that_the_other_hardly_tells():
    cohort = make_cohort(3)
    subtype = cohort.labels["subtype"]
    subtype = subtype[subtype.isin(["Basal", "Her2", "LumA"])]
    expression, methylation = (
        table.loc[table.index.isin(subtype.index)]
        for table in (cohort.tables["expression"], cohort.tables["methylation"])
    )
    assert (
        discrimination(expression, subtype, "Basal") > discrimination(methylation, subtype, "Basal") + 0.1
    )
    assert discrimination(methylation, subtype, "Her2") > discrimination(expression, subtype, "Her2") + 0.1
