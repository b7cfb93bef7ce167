"""The tests of some rooms: `python tools/rooms.py [ROOM…]` prints their folders and files, one per line.

Without a name, the rooms are those with changes that are not committed yet: sources, tests and pages of findings. The house
rules in `tests/test_house.py` are always included.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def rooms() -> list[str]:
    return sorted(path.name for path in (ROOT / "src" / "trueup").iterdir() if (path / "__init__.py").exists())


def places() -> list[str]:
    """The names that `make` accepts: rooms, and folders of tests outside any room, such as `threats`."""
    tests = ROOT / "tests"
    folders = (path.relative_to(tests).parts[0] for path in tests.glob("*/**/test_*.py"))
    return sorted({*rooms(), *folders})


def touched(changed: list[str]) -> list[str]:
    """The rooms that these files belong to."""
    parts = [Path(name).parts for name in changed]
    found = {part[2] for part in parts if part[:2] == ("src", "trueup") and len(part) > 3}
    found |= {part[1] for part in parts if part[0] == "tests" and len(part) > 2}
    return sorted(found & set(places()))


def changed_files() -> list[str]:
    command = ["git", "status", "--porcelain", "--untracked-files=all", "--no-renames"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - our own words
    return [line[3:].strip('"') for line in done.stdout.splitlines()]


def places_of(names: list[str]) -> list[str]:
    """The folders of tests and of doctests of these rooms."""
    folders = [folder for name in names for folder in (Path("tests") / name, Path("src/trueup") / name)]
    return ["tests/test_house.py", *(folder.as_posix() for folder in folders if (ROOT / folder).exists())]


def main() -> int:
    names = [name for word in sys.argv[1:] for name in word.replace(",", " ").split()]
    unknown = sorted(set(names) - set(places()))
    if unknown:
        print(f"there is no room {unknown[0]!r}; there are {', '.join(places())}", file=sys.stderr)
        return 2
    print("\n".join(places_of(names or touched(changed_files()))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
