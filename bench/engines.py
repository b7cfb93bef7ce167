"""Two versions of the engine in one run: CPU time of the same replies under each, alternately, and the ratio.

Takes the folder of an older checkout's sources: `python bench/engines.py ../older/src`. Each version runs in a separate
process; rounds alternate, and the least time of each row counts, so that a busy machine slows both alike.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent / "src"
TOOLS = [{"type": "function", "function": {"name": f"tool_{n}", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}} for n in range(20)]  # fmt: skip


def rows() -> dict[str, Callable[[], Any]]:
    """Every reply to time, as a call of the version that this process imports."""
    from trueup import Contract
    from trueup.measure.replies import BROKEN, COMPACT, PRETTY, SCHEMA, STREAM_SCHEMA, stream_document

    contract, tools, partial = Contract(SCHEMA), Contract(tools=TOOLS), Contract(STREAM_SCHEMA)
    document = stream_document()
    pieces = [document[at : at + 16] for at in range(0, len(document), 16)]
    coerced = COMPACT.replace(":1,", ':"1",', 1)
    marked = '<tool_call>{"name": "tool_3", "arguments": {"a": 1}}</tool_call>'

    def streamed() -> Any:
        stream = partial.stream()
        for piece in pieces:
            stream.feed(piece)
        return stream.finish()

    out: dict[str, Callable[[], Any]] = {
        "clean, compact": lambda: contract.check(COMPACT),
        "clean, indented": lambda: contract.check(PRETTY),
        "coerced, fixes read": lambda: contract.check(coerced).fixes,
        "a call in tags": lambda: tools.check(marked),
        "prose, tools offered": lambda: tools.check("The sky is blue. I can look that up if you like."),
        "a stream of 16 KB": streamed,
    }
    for kind, broken in BROKEN.items():
        text = broken if isinstance(broken, str) else broken[0]
        out[f"broken: {kind}"] = lambda text=text: contract.check(text)  # type: ignore[misc]
        out[f"broken, fixes read: {kind}"] = lambda text=text: contract.check(text).fixes  # type: ignore[misc]
    return out


def work(target: float) -> None:
    """Time every row once and print the CPU time of one call, in seconds."""
    times = {}
    for name, call in rows().items():
        call()
        loops = 1
        while True:
            start = time.process_time()
            for _ in range(loops):
                call()
            spent = time.process_time() - start
            if spent >= target:
                break
            loops *= 2
        times[name] = spent / loops
    print(json.dumps(times))


def measured(source: Path, rounds: int, other: Path) -> tuple[dict[str, float], dict[str, float]]:
    """The least time of each row, for both versions."""
    best: list[dict[str, float]] = [{}, {}]
    for turn in range(2 * rounds):
        which = turn % 2
        place = (source, other)[which]
        done = subprocess.run(
            [sys.executable, str(Path(__file__).resolve()), "--work"],
            env={**os.environ, "PYTHONPATH": str(place)}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        for name, spent in json.loads(done.stdout.splitlines()[-1]).items():
            best[which][name] = min(spent, best[which].get(name, spent))
    return best[0], best[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("older", nargs="?", type=Path, help="the sources of an older version")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--markdown", type=Path)
    args = parser.parse_args()
    if args.work:
        work(0.02)
        return
    if args.older is None or not (args.older / "trueup").is_dir():
        parser.error("give the folder with the older version's `trueup` package")
    old, new = measured(args.older, args.rounds, HERE)
    lines = ["| reply | older µs | this µs | ratio |", "|---|---:|---:|---:|"]
    for name in [*new]:
        if name in old:
            ratio = new[name] / old[name]
            lines.append(f"| {name} | {old[name] * 1e6:.1f} | {new[name] * 1e6:.1f} | {ratio:.2f} |")
    print("\n".join(lines))
    if args.markdown:
        args.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
