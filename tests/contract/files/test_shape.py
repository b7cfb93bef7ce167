"""The schema of contract files: one description in code, shipped for editors, judged by an independent validator."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from trueup.contract.files import parts
from trueup.contract.files.documents import parse_document, read_document
from trueup.contract.files.fitting import shape_faults
from trueup.contract.files.shape import file_schema

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = sorted((ROOT / "examples" / "contracts").glob("*.*"))
SHIPPED = files("trueup.contract.files") / "contract.schema.json"


@pytest.fixture(scope="module")
def editor() -> Any:
    return jsonschema_rs.validator_for(json.loads(SHIPPED.read_text("utf-8")))


def test_the_shipped_schema_is_the_one_in_code(request: pytest.FixtureRequest) -> None:
    text = json.dumps(file_schema(), indent=2, ensure_ascii=False) + "\n"
    if request.config.getoption("--update-snapshots"):
        Path(str(SHIPPED)).write_text(text, "utf-8")
    assert SHIPPED.read_text("utf-8") == text, "run `make snapshots`"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_it_takes_the_example_contracts(path: Path, editor: Any) -> None:
    data = read_document(path).data
    assert not [str(error) for error in editor.iter_errors(data)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_it_refuses_each_of_their_keys_misspelt(path: Path, editor: Any) -> None:
    data = read_document(path).data
    for key in data:
        wrong = {(f"{key}x" if name == key else name): part for name, part in data.items()}
        assert not editor.is_valid(wrong)
        assert "N005" in {found.code for found in shape_faults(parse_document(json.dumps(wrong), "x.json", ".json"))}


def keys(shape: dict[str, Any]) -> set[str]:
    return set(shape["properties"])


def test_parts_have_the_keys_that_their_rooms_take() -> None:
    from trueup.checks import custom, dialogue, reply, rules

    assert keys(parts.RULES["anyOf"][1]) == set(rules.SECTIONS)
    assert keys(parts.RULE["anyOf"][1]) == set(rules.RULE_KEYS)
    assert keys(parts.REPLY["anyOf"][1]) == set(reply._OPTIONS)
    assert keys(parts.REPLY_RULE) == set(custom._KEYS) - {"check"}  # a function, in Python only
    assert keys(parts.STATE["anyOf"][1]) == set(dialogue._STATE)
    assert keys(parts.FORBIDDEN) == set(dialogue._RULE)
    assert keys(parts.EXCUSES["anyOf"][0]["anyOf"][1]) == set(dialogue._EXCUSE)
    assert keys(parts.STATES) == {*dialogue.SHARED, *dialogue.SETTINGS} - {"machine"}  # an object, in Python only
    assert keys(parts.STATES["properties"]["groups"]["additionalProperties"]["anyOf"][1]) == set(dialogue._GROUP)
