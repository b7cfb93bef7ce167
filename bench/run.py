"""`make bench`: trueup and its peers: correctness and CPU time, all in one run.

python bench/run.py [--quick] [--only clean,broken] [--probes FILE] [--json OUT] [--markdown PAGE] [--plot SVG]
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import report
from dialogue import dialogue
from ending import ending
from hostile import hostile
from large import large
from loop import loop
from peers import PARSERS
from plot import svg
from rules import rules
from running import running
from sections import broken, clean, probes, streaming
from start import start
from tools import tools
from typed import typed

Result = dict[str, Any]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes; for CI")
    parser.add_argument("--only", default="", help=f"some of: {', '.join(report.DRAW)}")
    parser.add_argument("--probes", type=Path, help="JSONL of hand-written messes with their right values")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each hostile text (default 20)")
    parser.add_argument("--json", type=Path, help="write all figures here")
    parser.add_argument("--markdown", type=Path, help="write the tables as a page here")
    parser.add_argument("--plot", type=Path, help="write the picture here (SVG)")
    return parser.parse_args()


def _sections(options: argparse.Namespace) -> dict[str, Callable[[], Result]]:
    quick = options.quick
    rounds = 4 if quick else 25
    made: dict[str, Callable[[], Result]] = {
        "clean": lambda: clean(rounds),
        "broken": lambda: broken(rounds),
        "streaming": lambda: streaming(4_000 if quick else 16_000, 2 if quick else 7),
        "short-stream": lambda: streaming(4_000, 2 if quick else 7),
        "hostile": lambda: hostile(2.0 if quick else options.limit, quick=quick),
        "tools": lambda: tools(rounds),
        "dialogue": lambda: dialogue(rounds),
        "large": lambda: large(0.05 if quick else 10),
        "loop": lambda: loop(rounds),
        "running": lambda: running(rounds),
        "ending": lambda: ending(1 if quick else 5),
        "rules": lambda: rules(rounds),
        "typed": lambda: typed(rounds),
        "imports": lambda: start(2 if quick else 25),
    }
    if options.probes:
        made["probes"] = lambda: probes(options.probes)
    only = [name for name in options.only.split(",") if name]
    return {name: run for name, run in made.items() if not only or name in only}


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def main() -> int:
    options = _arguments()
    result: Result = {
        "machine": f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs.",
        "versions": {peer.package: peer.version() for peer in PARSERS},
    }
    print(result["machine"])
    for name, run in _sections(options).items():
        result[name] = run()
        print(report.text(name, result[name]), flush=True)
    if options.json:
        _write(options.json, json.dumps(result, indent=1, ensure_ascii=False))
    if options.plot and "broken" in result:
        _write(options.plot, svg(result["broken"]))
    if options.markdown:
        near = os.path.relpath(options.plot, options.markdown.parent) if options.plot else None
        _write(options.markdown, report.markdown(result, near))
    return 0


if __name__ == "__main__":
    sys.exit(main())
