"""A small experiment to reproduce, and records of it."""

from absentia.experiment.reproduction import find

EXPERIMENT = """
paper = "cvkt"
place = "Table 0"
what = "made up"
protocol = "cvkt"
row = "{data}, {share}"
[design]
data = ["one"]
share = [10, 20]
[quick]
columns = ["zero"]
[[columns]]
name = "zero"
method = "ZeroFill"
[[columns]]
name = "mean"
method = "MeanFill"
[[measures]]
name = "error"
better = "lower"
[[measures]]
name = "loss"
better = "lower"
"""


def experiment_of(folder, more=""):
    """Read from a file with `more` at its end."""
    path = folder / "made-up.toml"
    path.write_text(EXPERIMENT + more)
    return find(str(path))


def record(method, share, scores, repeat=0):
    """What came of a trial that was done."""
    key = {"data": "one", "share": share, "method": method, "parameters": {}, "repeat": repeat}
    return {
        "trial": key | {"version": "0"},
        "status": "done",
        "result": {"scores": scores},
        "error": "",
        "cost": {"cpu": 1.0},
    }
