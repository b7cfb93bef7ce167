"""Checks the prose of the project for habits of translated English: `python tools/prose.py [FILE or FOLDER…]`.

Prints every hit and fails if there is one. Without arguments it reads the whole project. `--extract` prints the prose itself,
one paragraph per line; `--rules` explains the rules.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from english import exempt
from english.files import files_of, name_of, passages_of, whole_project
from english.lint import Hit, lint
from english.rules import rules


def hits_in(paths: list[Path]) -> list[Hit]:
    return exempt.without_exempt(lint((name_of(path), passage) for path in paths for passage in passages_of(path)))


def extract(paths: list[Path]) -> int:
    for path in paths:
        for passage in passages_of(path):
            print(f"{name_of(path)}:{passage.line}: {passage.text}")
    return 0


def explain() -> int:
    for rule in rules().values():
        print(f"{rule.name}: {rule.why}\n    not  {rule.before}\n    but  {rule.after}\n")
    return 0


def check(paths: list[Path]) -> int:
    """Prints every hit."""
    hits = hits_in(paths)
    for hit in hits:
        print(hit)
    if hits:
        print(f"{len(hits)} habits to correct; `python tools/prose.py --rules` explains them")
    return 1 if hits else 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools/prose.py", description="Check the prose of the project.")
    parser.add_argument(
        "places", nargs="*", type=Path, metavar="FILE", help="files or folders; default: the whole project"
    )
    parser.add_argument("--project", action="store_true", help="skip files that a run without FILE does not read")
    parser.add_argument("--extract", action="store_true", help="print the prose, one paragraph per line")
    parser.add_argument("--rules", action="store_true", help="explain the rules")
    options = parser.parse_args(arguments)
    missing = [place for place in options.places if not place.exists()]
    if missing:
        parser.error(f"no such file or folder: {missing[0]}")
    if options.rules:
        return explain()
    paths = list(files_of(options.places) if options.places else whole_project())
    if options.project:
        known = set(whole_project())
        paths = [path for path in paths if path.resolve() in known]
    if options.extract:
        return extract(paths)
    return check(paths)


if __name__ == "__main__":
    sys.exit(main())
