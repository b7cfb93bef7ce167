"""Reads the prose of the project: `python tools/prose.py --extract [FILE or FOLDER…]` prints it, one paragraph a line."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from english.files import files_of, name_of, passages_of, whole_project


def extract(paths: list[Path]) -> int:
    for path in paths:
        for passage in passages_of(path):
            print(f"{name_of(path)}:{passage.line}: {passage.text}")
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools/prose.py", description="Read the prose of the project.")
    parser.add_argument(
        "places", nargs="*", type=Path, metavar="FILE", help="files or folders; default: the whole project"
    )
    parser.add_argument("--extract", action="store_true", help="print the prose, one paragraph a line")
    options = parser.parse_args(arguments)
    missing = [place for place in options.places if not place.exists()]
    if missing:
        parser.error(f"no such file or folder: {missing[0]}")
    if options.extract:
        return extract(list(files_of(options.places) if options.places else whole_project()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
