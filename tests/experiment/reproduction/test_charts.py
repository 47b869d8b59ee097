"""Pictures of experiments: a panel for each measure that is drawn."""

from absentia.experiment.reproduction import chart_svg, summarise
from reproducing import experiment_of, record

CHART = '[chart]\nx = "share"\npanel = "data"\nmeasure = {measure}\n'


def drawn(tmp_path, measure):
    experiment = experiment_of(tmp_path, CHART.format(measure=measure))
    records = [
        record("ZeroFill", share, {"error": {"": share / 10}, "loss": {"": 1.0}}) for share in (10, 20)
    ]
    return chart_svg(summarise(experiment, records))


def test_several_measures_are_drawn_in_panels_of_their_own(tmp_path):
    picture = drawn(tmp_path, '["error", "loss"]')
    assert ">one, error<" in picture
    assert ">one, loss<" in picture


def test_one_measure_is_not_named_in_every_panel(tmp_path):
    picture = drawn(tmp_path, '"error"')
    assert ">one<" in picture
    assert "loss" not in picture
