"""Prints what `make soak` covers beyond `make test`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.effort import LONGER


def main() -> None:
    print("== soak: everything that `make test` runs, and")
    for file, what in LONGER.items():
        print(f"   {what} ({file})")


if __name__ == "__main__":
    main()
