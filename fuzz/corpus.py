"""Valid files for the fuzzers, one folder per reader: ``python fuzz/corpus.py [FOLDER]``."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))


def make(folder):
    """Write the corpus; return it."""
    from helpers import corrupted_files

    found = corrupted_files.seeds()
    for reader, files in found.items():
        place = Path(folder) / re.sub(r"\W+", "-", reader)
        place.mkdir(parents=True, exist_ok=True)
        for k, data in enumerate(files):
            (place / f"{k}{corrupted_files.READERS[reader][1]}").write_bytes(data)
    return found


def load(folder):
    """The corpus in `folder` with what people have put there, made if it is not there."""
    from helpers import corrupted_files

    made = make(folder)
    for reader in made:
        place = Path(folder) / re.sub(r"\W+", "-", reader)
        made[reader] = [
            path.read_bytes()
            for path in sorted(place.iterdir())
            if path.name.endswith(corrupted_files.READERS[reader][1])
        ]
    return made


if __name__ == "__main__":
    where = sys.argv[1] if len(sys.argv) > 1 else HERE / "corpus"
    counts = {reader: len(files) for reader, files in make(where).items()}
    print(f"{where}: " + ", ".join(f"{reader} {count}" for reader, count in counts.items()))
