"""Records of a run in a file beside the documentation, and pages that are made from these files alone."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from absentia.experiment.engine import Record
from absentia.files import FileError, write_atomically
from absentia.papers._cells import columns_of
from absentia.papers._charts import chart_svg
from absentia.papers._experiment import Experiment, list_experiments, list_papers
from absentia.papers._markdown import markdown
from absentia.papers._summary import VERDICTS, Summary, summarise
from absentia.papers.protocols import version_of

RECORDS, INDEX = "records", "index.md"
INTRODUCTION = (
    "Every table and figure of the papers, by one command each: `absentia reproduce NAME`. A number is "
    "reproduced if it agrees with the printed one to its last digit or within two standard errors, "
    "exceeded if it is better than that, not reproduced if it is worse. This page and the others are made "
    "from the records beside them by `absentia reproduce --pages docs/reproduction`."
)
STORED = ("trial", "status", "result", "error")


@dataclass(frozen=True)
class StoredRecords:
    """Records of an experiment out of a file: plain mappings, and whether the run was a small one."""

    records: Sequence[Mapping[str, Any]]
    quick: bool


def as_mappings(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Records as :func:`summarise` takes them."""
    return [asdict(record) for record in records]


def write_records(folder: Path, experiment: Experiment, records: Sequence[Record], quick: bool) -> Path:
    """One line about the run, then one for each trial; nothing where other experiments have its records."""
    path = folder / RECORDS / f"{experiment.name}.jsonl"
    if experiment.records:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    made = dict(records[0].made) if records else {}
    lines: list[Any] = [{"experiment": experiment.name, "quick": quick, "made": made}]
    for record in as_mappings(records):
        needed = {name: record[name] for name in STORED if record[name]}  # by pages
        lines.append(needed | {"cpu": record["cost"].get("cpu")})
    content = "".join(json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n" for line in lines)
    return write_atomically(path, lambda file: file.write(content.encode()))


def read_records(path: Path) -> StoredRecords:
    """What :func:`write_records` wrote."""
    try:
        head, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        records = [
            {"trial": line["trial"], "status": line["status"], "result": line.get("result", {})}
            | {"error": line.get("error", ""), "cost": {"cpu": line.get("cpu")}}
            for line in lines
        ]
        return StoredRecords(records, bool(head["quick"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path}: is no file of records of an experiment ({error})") from None


def _stored_records(folder: Path, experiment: Experiment) -> StoredRecords | None:
    """Those of an experiment's trials, in its own file or in those of others; None if a file is missing."""
    paths = [folder / RECORDS / f"{name}.jsonl" for name in experiment.records or (experiment.name,)]
    if not all(path.exists() for path in paths):
        return None
    files = [read_records(path) for path in paths]
    shown = [one for file in files for one in file.records if columns_of(experiment, one["trial"])]
    return StoredRecords(shown, any(file.quick for file in files))


def describe_versions(folder: Path, experiment: Experiment) -> str:
    """Whether stored records are of the present versions of methods: in words, empty if there are none."""
    stored = _stored_records(folder, experiment)
    if experiment.cannot or stored is None:
        return ""
    versions = {(one["trial"]["method"], one["trial"]["version"]) for one in stored.records}
    stale = sorted({m for m, version in versions if version != version_of(experiment.protocol, m)})
    return f"other versions of {', '.join(stale)}" if stale else "current"


def render_pages(folder: Path) -> dict[str, str]:
    """Every page and the index again, from the records in a folder: contents by file name."""
    pages: dict[str, str] = {}
    summaries: dict[str, Summary] = {}
    for name, experiment in list_experiments().items():
        stored = _stored_records(folder, experiment)
        if stored is None:
            continue
        summary = summaries[name] = summarise(experiment, stored.records)
        picture = f"{name}.svg" if experiment.chart else ""
        if picture:
            pages[picture] = chart_svg(summary)
        pages[f"{name}.md"] = markdown(summary, stored.quick, picture)
    pages[INDEX] = _render_index(summaries)
    return pages


def _render_index(summaries: Mapping[str, Summary]) -> str:
    """One screen: every table and figure of the papers, and what became of it."""
    lines = ["# Reproduction\n", f"{INTRODUCTION}\n"]
    able = [experiment for experiment in list_experiments().values() if not experiment.cannot]
    counted = [summaries.get(experiment.name) or summarise(experiment, []) for experiment in able]
    totals = {word: sum(summary.counts[word] for summary in counted) for word in VERDICTS}
    words = ", ".join(f"{totals[word]} {word}" for word in VERDICTS)
    lines.append(f"**{sum(totals.values())} published numbers: {words}.**\n")
    for paper in list_papers():
        lines += [f"## {paper.short}\n", f"{paper.citation}\n"]
        lines += ["| | what | reproduced | exceeded | not | not run | claims | verdict |", "|---" * 8 + "|"]
        for place in paper.places:
            lines += [
                _index_line(place, experiment, summaries)
                for experiment in list_experiments().values()
                if (experiment.paper, experiment.place) == (paper.key, place)
            ]
            if place in paper.others:
                lines.append(f"| {place} | {paper.others[place]} |  |  |  |  |  | - |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _index_line(place: str, experiment: Experiment, summaries: Mapping[str, Summary]) -> str:
    name, summary = experiment.name, summaries.get(experiment.name)
    if experiment.cannot:
        return f"| {place} | {experiment.what} |  |  |  |  |  | cannot be run here: {experiment.cannot} |"
    if summary is None:
        not_run = summarise(experiment, []).counts["not run"] or ""
        why = f": {experiment.unrun}" if experiment.unrun else ""
        return f"| {place} | {experiment.what} (`{name}`) |  |  |  | {not_run} |  | not run{why} |"
    counts = [str(summary.counts[word] or "") for word in VERDICTS]
    held = sum(claim.verdict == "holds" for claim in summary.claims)
    claims = f"{held} of {len(summary.claims)}" if summary.claims else ""
    cells = " | ".join([*counts, claims, summary.word])
    return f"| {place} | [{experiment.what}]({name}.md) | {cells} |"
