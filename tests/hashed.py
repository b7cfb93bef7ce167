"""Prints what trueup says about every text of the tests and examples, one line each: `python -m tests.hashed`.

The hashes of strings differ in every process, and with them the order of a set. Nothing that is printed may depend on it.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.findings.test_pages import QUIET, TRIGGERS
from tests.grounding.test_lookup import EVERYTHING
from tests.grounding.test_prose import PROSE
from tests.grounding.test_records import PEOPLE, people
from trueup import Contract
from trueup.ask.correction import correction
from trueup.contract.lint.run import lint_contract
from trueup.inferring.infer import infer
from trueup.verdict.pages import PageExample

ROOT = Path(__file__).resolve().parent.parent
DATA, CASES, EXAMPLES = ROOT / "tests" / "data", ROOT / "tests" / "grounding" / "cases", ROOT / "examples"
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "tags": {"type": "array"}},
    "required": ["name", "age"],
}
TOOLS = [
    {"name": "find", "parameters": {"type": "object", "properties": {"query": {"type": "string"}}}},
    {"name": "book", "parameters": {"type": "object", "properties": {"day": {"type": "string"}}}},
]
ELSEWHERE = ("ask", "pipeline", "lines", "gateway", "environ", "stream", "times", "coerce")


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def grounded() -> Iterator[Any]:
    """Values and claims that are looked up in a source."""
    for group, languages in read(CASES / "prose.json").items():
        for language, one in languages.items():
            for kind in ("true", "false"):
                for case in one[kind]:
                    text = case["text"] if isinstance(case, dict) else case
                    yield group, language, PROSE.check(text, {"source": one["documents"]})
    for name in ("found", "absent"):
        for rows in read(CASES / f"{name}.json").values():
            for source, value, *_ in rows:
                yield source, EVERYTHING.check(json.dumps({"x": value}), {"source": source})
    for rows in read(CASES / "counted.json").values():
        for source, *values in rows:
            for value in values:
                yield source, EVERYTHING.check(json.dumps(value), {"source": source})
    for part in read(CASES / "records.json").values():
        for name, (source, rows) in part.items():
            swapped = people(rows)
            swapped[0]["age"], swapped[-1]["age"] = swapped[-1]["age"], swapped[0]["age"]
            yield name, PEOPLE.check(json.dumps(people(rows)), {"source": source})
            yield name, PEOPLE.check(json.dumps(swapped), {"source": source})


def recovered() -> Iterator[Any]:
    """Broken replies under schemas, with and without tools."""
    messes = read(DATA / "messes.json")
    texts = [*read(DATA / "known.json"), *(json.loads(line)["reply"] for line in (DATA / "smollm2.jsonl").open())]
    texts += [case["reply"] for case in messes["cases"]]
    schemas = {**messes["schemas"], "person": PERSON, "any": True}
    contracts = [Contract(schema) for schema in schemas.values()] + [Contract(PERSON, tools=TOOLS)]
    for contract in contracts:
        yield contract.instructions(), contract.fingerprint
        for text in texts:
            yield text, contract.check(text)


def described(folder: Path) -> Iterator[Any]:
    """The examples on the pages of the codes."""
    for name, page, example in (*TRIGGERS, *QUIET):
        if not example.python and not any(option in example.options for option in ELSEWHERE):
            yield page.code, name, said(example, folder / "contract.yaml")


def said(example: PageExample, file: Path) -> Any:
    if not example.contract:
        options = {"schema": None if "tools" in example.options else True, **example.options}
        return Contract(**options).check(example.reply, example.context)
    file.write_text(example.contract, "utf-8")
    if example.reply is None:
        return [str(fault).replace(str(file.parent), "") for fault in lint_contract(file).faults]
    return Contract.load(file).check(example.reply, example.context)


def shipped() -> Iterator[Any]:
    """The example replies under each example contract, what each contract tells a model, and contracts drafted from replies."""
    replies = [path.read_text("utf-8") for path in sorted((EXAMPLES / "replies").glob("*.txt"))]
    for path in sorted((EXAMPLES / "contracts").glob("*.yaml")):
        contract = Contract.load(path)
        yield path.name, contract.fingerprint, contract.instructions()
        for text in replies:
            verdict = contract.check(text)
            yield path.name, verdict, [] if verdict.ok else correction(contract, verdict)
    yield infer(EXAMPLES / "replies" / "people.jsonl").yaml


def plain(given: Any) -> Any:
    return given.to_dict() if hasattr(given, "to_dict") else str(given)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        for part in (grounded(), recovered(), described(Path(made)), shipped()):
            for row in part:
                print(json.dumps(row, default=plain))
