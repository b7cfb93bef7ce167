"""The cost of starting: imports, the first reply after one, and commands, each in fresh interpreters that take turns.

Returns CPU milliseconds, the lowest of many rounds, and how they compare with pydantic's `BaseModel` imported in the same run.
"""

import os
import resource
import subprocess
import sys
from typing import Any, NamedTuple

Result = dict[str, Any]


class Row(NamedTuple):
    """A piece of code that is timed, and what has run before it."""

    code: str
    before: str = ""


BASE = "import pydantic, BaseModel used"
CONTRACT = "from trueup import Contract"
_SCHEMA = '{"type": "object", "properties": {"a": {"type": "integer"}}}'
ROWS = {
    "import trueup": Row("import trueup"),
    CONTRACT: Row(CONTRACT),
    "then a first clean reply": Row(f"""Contract({_SCHEMA}).check('{{"a": 3}}')""", CONTRACT),
    "then a first broken reply": Row(f"""Contract({_SCHEMA}).check('{{"a": "3",}}')""", CONTRACT),
    "then a first broken reply in a fence": Row(
        f"""Contract({_SCHEMA}).check('```json\\n{{"a": "3",}}\\n```')""", CONTRACT
    ),
    "import json_repair": Row("import json_repair"),
    "json_repair, then a first broken reply": Row("""json_repair.loads('{"a": "3",}')""", "import json_repair"),
    "import pydantic (loads its parts when they are used)": Row("import pydantic"),
    BASE: Row("import pydantic; pydantic.BaseModel"),
    "pydantic, then a first model and a clean reply": Row(
        """M = pydantic.create_model("M", a=(int, ...)); M.model_validate_json('{"a": 3}')""",
        "import pydantic; pydantic.BaseModel",
    ),
    "import langchain_core.utils.json": Row("import langchain_core.utils.json"),
    "import instructor.utils": Row("import instructor.utils"),
    "import baml_py": Row("import baml_py"),
}
COMMANDS = {"trueup --help": ["--help"], "trueup check, a reply of four characters": ["check"]}
_COMMAND = "import sys; sys.argv = ['trueup', *{}]; from trueup.cli.main import main; main()"
_TIMED = "import time\n{before}\nstart = time.process_time()\n{code}\nprint((time.process_time() - start) * 1e3)"


def start(rounds: int) -> Result:
    """The lowest CPU milliseconds of every row; None if a library is not installed."""
    spent: dict[str, list[float | None]] = {}
    for turn in range(rounds + 1):
        for name, row in ROWS.items():
            spent.setdefault(name, []).append(_timed(row))
        for name, words in COMMANDS.items():
            spent.setdefault(name, []).append(_command(words))
        if turn == 0:
            spent.clear()  # the round that wrote the bytecode
    least = {name: None if None in took else min(ms for ms in took if ms is not None) for name, took in spent.items()}
    return {"ms": least, "base": BASE}


def table(data: Any) -> tuple[str, str, list[str], list[list[str]]]:
    base = data["ms"][data["base"]]
    rows = [
        [name, "not installed" if ms is None else f"{ms:.1f}", "" if ms is None or not base else f"{ms / base:.2f}×"]
        for name, ms in data["ms"].items()
    ]
    note = (
        "CPU ms in a fresh interpreter, without the interpreter's own start; the bytecode was written before. The last column "
        "compares with importing pydantic's `BaseModel` in the same run. pydantic loads its parts when they are used, so "
        "`import pydantic` alone does not load all that a model needs."
    )
    return "Import and start", note, ["statement or command", "ms", "to pydantic"], rows


def _run(code: str) -> subprocess.CompletedProcess[str]:
    ours = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, input="[1,]", text=True, check=False, env=ours
    )


def _timed(row: Row) -> float | None:
    done = _run(_TIMED.format(before=row.before, code=row.code))
    if "ModuleNotFoundError" in done.stderr:
        return None
    return float(done.stdout.split()[-1])


def _command(words: list[str]) -> float:
    """A command with the start of the interpreter taken off: both as the system counts them."""
    return _whole(_COMMAND.format(words)) - _whole("pass")


def _whole(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(code)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3
