"""Tables of 50,000 samples in 4 views of 500 features, 30 % of the cells absent, for the command line.

Writes four CSV files and labels into a folder, as docs/scale.md has them; then, as that page shows, run

    absentia complete FOLDER/views -o completed.npz --report page.html
    absentia fit FOLDER/views --labels FOLDER/labels.csv:label -o model.absentia
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import common
import numpy as np

from absentia import Views, io, missingness

NAMES = ("rna", "protein", "image", "text")


def made(n: int, width: int, seed: int = 0) -> tuple[Views, np.ndarray]:
    """Views of eight common factors with noise, and labels that are a curved function of some of these."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n, 8))
    curved = np.sin(2 * factors[:, 0]) + factors[:, 1] * factors[:, 2] + 0.5 * factors[:, 3]
    tables = {}
    for name in NAMES:
        table = factors @ rng.standard_normal((8, width)) + 0.7 * rng.standard_normal((n, width))
        tables[name] = np.round(table, 3)
    views = Views.from_dict(tables, ids=[f"P{k:06d}" for k in range(n)])
    keep = missingness.mcar(views, 0.3, random_state=seed)
    return views.hide(keep), np.where(curved + 0.3 * rng.standard_normal(n) > 0, "case", "control")


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="where to; by default a temporary one")
    parser.add_argument("--samples", type=int, default=50_000)
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp())
    views, y = made(*((600, 20) if arguments.quick else (arguments.samples, 500)))
    seconds, _ = common.cpu(lambda: io.write(f"{folder / 'views'}/", views))
    rows = [f"{key},{label}" for key, label in zip(views.ids.tolist(), y.tolist(), strict=True)]
    (folder / "labels.csv").write_text("\n".join(["id,label", *rows]) + "\n")
    print(folder)
    size = sum(file.stat().st_size for file in (folder / "views").iterdir()) / common.MB
    common.finish(
        "fifty_thousand", arguments.quick, [{"samples": len(views), "MB": size, "CPU s": seconds}]
    )


if __name__ == "__main__":
    main()
