"""What is kept of a run beside the documentation: its records in a file, and pages made from them alone."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from absentia.experiment.engine import Record
from absentia.files import FileError, write_atomically
from absentia.papers._cells import columns_of
from absentia.papers._charts import chart_svg
from absentia.papers._experiment import Experiment
from absentia.papers._listing import list_experiments, list_papers
from absentia.papers._markdown import markdown
from absentia.papers._methods import version
from absentia.papers._summary import JUDGED, Summary, summarise

RECORDS, INDEX = "records", "index.md"
WORDS = (
    "Every table and figure of the papers, by one command each: `absentia reproduce NAME`. A number is "
    "reproduced if it agrees with the printed one to its last digit or within two standard errors, "
    "exceeded if it is better than that, not reproduced if it is worse. This page and the others are made "
    "from the records beside them by `absentia reproduce --pages docs/reproduction`."
)
KEPT = ("trial", "status", "result", "error")


@dataclass(frozen=True)
class Kept:
    """Records of an experiment as they are kept: plain mappings, and whether the run was a small one."""

    records: Sequence[Mapping[str, Any]]
    quick: bool


def plain(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Records as mappings."""
    return [asdict(record) for record in records]


def write_kept(folder: Path, experiment: Experiment, records: Sequence[Record], quick: bool) -> Path:
    """One line about the run, then one for each trial; nothing where others keep them."""
    path = folder / RECORDS / f"{experiment.name}.jsonl"
    if experiment.records:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    made = dict(records[0].made) if records else {}
    lines: list[Any] = [{"experiment": experiment.name, "quick": quick, "made": made}]
    lines += [_slim(record) for record in plain(records)]
    content = "".join(json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n" for line in lines)
    return write_atomically(path, lambda file: file.write(content.encode()))


def _slim(record: Mapping[str, Any]) -> dict[str, Any]:
    """What pages need of a record."""
    return {name: record[name] for name in KEPT if record[name]} | {"cpu": record["cost"].get("cpu")}


def read_kept(path: Path) -> Kept:
    """What :func:`write_kept` wrote."""
    try:
        head, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        records = [
            {"trial": one["trial"], "status": one["status"], "result": one.get("result", {})}
            | {"error": one.get("error", ""), "cost": {"cpu": one.get("cpu")}}
            for one in lines
        ]
        return Kept(records, bool(head["quick"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path}: is no file of kept records ({error})") from None


def kept_of(folder: Path, experiment: Experiment) -> Kept | None:
    """What is kept of an experiment's trials, by itself or by others; None if any of it is not there."""
    paths = [folder / RECORDS / f"{name}.jsonl" for name in experiment.records or (experiment.name,)]
    if not all(path.exists() for path in paths):
        return None
    found = [read_kept(path) for path in paths]
    own = [one for kept in found for one in kept.records if columns_of(experiment, one["trial"])]
    return Kept(own, any(kept.quick for kept in found))


def freshness(folder: Path, experiment: Experiment) -> str:
    """Whether the kept records are of the source as it is now: in words, empty if none are kept."""
    found = kept_of(folder, experiment)
    if experiment.cannot or found is None:
        return ""
    kept = {(one["trial"]["method"], one["trial"]["version"]) for one in found.records}
    stale = sorted({method for method, made in kept if made != version(experiment.protocol, method)})
    return f"another source of {', '.join(stale)}" if stale else "this source"


def regenerate(folder: Path) -> dict[str, str]:
    """Every page and the index again, from the records that are kept in a folder: contents by file name."""
    pages: dict[str, str] = {}
    found: dict[str, Summary] = {}
    for name, experiment in list_experiments().items():
        kept = kept_of(folder, experiment)
        if kept is None:
            continue
        summary = found[name] = summarise(experiment, kept.records)
        picture = f"{name}.svg" if experiment.chart else ""
        if picture:
            pages[picture] = chart_svg(summary)
        pages[f"{name}.md"] = markdown(summary, kept.quick, picture)
    pages[INDEX] = index(found)
    return pages


def index(found: Mapping[str, Summary]) -> str:
    """One screen: every table and figure of the papers, and what became of it."""
    lines = ["# Reproduction\n", f"{WORDS}\n"]
    counted = [
        found.get(one.name) or summarise(one, []) for one in list_experiments().values() if not one.cannot
    ]
    totals = {word: sum(summary.counts[word] for summary in counted) for word in JUDGED}
    words = ", ".join(f"{totals[word]} {word}" for word in JUDGED)
    lines.append(f"**{sum(totals.values())} published numbers: {words}.**\n")
    for paper in list_papers():
        lines += [f"## {paper.short}\n", f"{paper.citation}\n"]
        lines += ["| | what | reproduced | exceeded | not | not run | claims | verdict |", "|---" * 8 + "|"]
        for place in paper.places:
            lines += [
                _line(place, experiment, found)
                for experiment in list_experiments().values()
                if (experiment.paper, experiment.place) == (paper.key, place)
            ]
            if place in paper.others:
                lines.append(f"| {place} | {paper.others[place]} |  |  |  |  |  | - |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _line(place: str, experiment: Experiment, found: Mapping[str, Summary]) -> str:
    name, summary = experiment.name, found.get(experiment.name)
    if experiment.cannot:
        return f"| {place} | {experiment.what} |  |  |  |  |  | cannot be run here: {experiment.cannot} |"
    if summary is None:
        lost = summarise(experiment, []).counts["not run"] or ""
        why = f": {experiment.unrun}" if experiment.unrun else ""
        return f"| {place} | {experiment.what} (`{name}`) |  |  |  | {lost} |  | not run{why} |"
    counts = [str(summary.counts[word] or "") for word in JUDGED]
    held = sum(one.verdict == "holds" for one in summary.claims)
    claims = f"{held} of {len(summary.claims)}" if summary.claims else ""
    cells = " | ".join([*counts, claims, summary.word])
    return f"| {place} | [{experiment.what}]({name}.md) | {cells} |"
