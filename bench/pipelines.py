"""Pipelines: units through three asking steps on recorded replies, eight calls at a time.

What is measured is the orchestration: prompts, records, judging, files, journal. `python bench/pipelines.py [UNITS]`
prints microseconds a unit and step, and the memory at the start and the end; 5,000 units without an argument, 100,000
are the figure that is published.
"""

import gc
import json
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

from trueup.batch.pipeline.config import read_config
from trueup.batch.pipeline.rundir.create import create_run
from trueup.batch.pipeline.running.run import PipelineOptions, execute

STEPS = ("draft", "check", "polish")
LIMIT = 150.0  # microseconds a unit and step


def write_pipeline(folder: Path, units: int, chunk_size: int = 500) -> None:
    for name in ("templates", "schemas"):
        (folder / name).mkdir(parents=True)
    config = {
        "pipeline": {"steps": [{"name": step} for step in STEPS]},
        "api": {"provider": "replay", "replay": {"source": "replies.jsonl"}},
        "processing": {
            "strategy": "direct",
            "chunk_size": chunk_size,
            "repeat": units // 10,
            "items": {"source": "items.json", "name_field": "id"},
        },
        "prompts": {"templates": {step: f"{step}.jinja2" for step in STEPS}, "global_context": {"town": "Turin"}},
        "schemas": {"files": {step: f"{step}.json" for step in STEPS}},
        "validation": {
            step: {"required": ["text"], "rules": [{"name": "long", "expr": "len(text) > 10"}]} for step in STEPS
        },
    }
    (folder / "config.yaml").write_text(json.dumps(config), "utf-8")
    items = [{"id": f"item_{n}", "subject": f"subject {n}", "about": "a sentence or two " * 5} for n in range(10)]
    (folder / "items.json").write_text(json.dumps(items), "utf-8")
    replies = []
    for step in STEPS:
        prompt = f"Town: {{{{ town }}}}. Write about {{{{ subject }}}}: {{{{ about }}}}\nAnswer with JSON for {step}."
        (folder / "templates" / f"{step}.jinja2").write_text(prompt, "utf-8")
        schema = {
            "type": "object",
            "properties": {"text": {"type": "string"}, "score": {"type": "integer"}, "tags": {"type": "array"}},
            "required": ["text", "score"],
        }
        (folder / "schemas" / f"{step}.json").write_text(json.dumps(schema), "utf-8")
        reply = {"text": f"A {step} of some length, written by nobody.", "score": 7, "tags": ["a", "b", "c"]}
        replies.append({"step": step, "unit_id": "*", "raw_response": json.dumps(reply)})
    (folder / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in replies), "utf-8")


def resident() -> float:
    """Megabytes of this process now."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def measure(units: int, chunk_size: int = 500) -> dict[str, float]:
    """Run the pipeline once; microseconds a unit and step, and memory."""
    folder = Path(tempfile.mkdtemp(prefix="trueup-bench-"))
    try:
        write_pipeline(folder / "pipeline", units, chunk_size)
        began = time.perf_counter()
        run = create_run(read_config(folder / "pipeline"), folder / "run")
        created = time.perf_counter() - began
        gc.collect()
        memory: list[float] = []
        wall, cpu = time.perf_counter(), time.process_time()
        result = execute(run, PipelineOptions(workers=8), on_live=lambda _: memory.append(resident()))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        assert result.code == 0, result
        number = units * len(STEPS)
        return {
            "units": units,
            "wall_us": wall / number * 1e6,
            "cpu_us": cpu / number * 1e6,
            "init_us": created / units * 1e6,
            "memory_mb": memory[0],
            "memory_most_mb": max([*memory, resident()]),
            "seconds": wall,
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    units = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    found = measure(units)
    print(
        f"{units:,} units, {len(STEPS)} steps, 8 calls at a time: {found['wall_us']:.0f} µs a unit and step"
        f" ({found['cpu_us']:.0f} µs of CPU; the limit is {LIMIT:.0f}), {found['seconds']:.1f} s;"
        f" memory {found['memory_mb']:.0f} MB at the start, {found['memory_most_mb']:.0f} MB at most;"
        f" making the run {found['init_us']:.0f} µs a unit"
    )


if __name__ == "__main__":
    main()
