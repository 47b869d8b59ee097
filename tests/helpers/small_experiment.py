"""A small experiment to try reproduction on, and records as trials would leave them."""

from absentia.papers import read_experiment

TEXT = """
paper = "mkmc"
place = "Table 1"
what = "a small one"
protocol = "mkmc"
row = "{level} missing"
repeats = 5
full_repeats = 10
published_repeats = 4
departures = ["It is small."]
names = { "0.5" = "half" }

[kinds]
proposed = ["M"]
baseline = ["Z"]

[design]
level = [0.25, 0.5]

[quick]
level = [0.5]
columns = ["zero", "mean"]

[[columns]]
name = "zero"
method = "ZeroFill"
beside = "Z"

[[columns]]
name = "mean"
method = "MeanFill"
beside = "M"

[[columns]]
name = "entries"
method = "MeanFill"
parameters = { of = "entries" }

[[columns]]
name = "oracle"
method = "CVKT"
leaks = true

[[measures]]
name = "error"
better = "lower"
digits = 2
published = '''
| Z | M
0.25 missing | 0.50 | 0.40±0.10
half missing | 0.60 | -
more missing | 0.70 | 0.60
'''

[[claims]]
words = "mean beats zero"
measure = "error"
first = "mean"
second = "zero"
published = 0.1

[[claims]]
words = "entries beat the mean"
measure = "error"
first = "entries"
second = "mean"
"""
#: Our numbers by column and level, of five repeats.
VALUES = {
    ("zero", 0.25): [0.5, 0.5, 0.503, 0.5, 0.502],
    ("zero", 0.5): [0.7, 0.72, 0.71, 0.7, 0.72],
    ("mean", 0.25): [0.3, 0.34, 0.32, 0.3, 0.34],
    ("mean", 0.5): [0.4, 0.41, 0.42, 0.4, 0.42],
    ("entries", 0.25): [0.33, 0.33, 0.3, 0.31, 0.33],
    ("entries", 0.5): [0.4, 0.43, 0.41, 0.4, 0.42],
    ("oracle", 0.25): [0.0] * 5,
}


def experiment(folder, text=TEXT, name="small"):
    """Read from a file in a folder."""
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return read_experiment(path)


def key(column, level, repeat):
    return {
        "protocol": "mkmc",
        "level": level,
        "repeat": repeat,
        "method": column.method,
        "parameters": dict(column.parameters),
        "seed": 0,
        "version": f"of {column.method}",
    }


def records(small, values=VALUES):
    """A record of every number, in the order of columns."""
    columns = {column.name: column for column in small.columns}
    return [
        {
            "trial": key(columns[name], level, repeat),
            "status": "done",
            "result": {"scores": {"error": {"": value}}},
            "error": "",
            "cost": {"cpu": 2.0},
        }
        for (name, level), numbers in values.items()
        if name in columns
        for repeat, value in enumerate(numbers)
    ]
