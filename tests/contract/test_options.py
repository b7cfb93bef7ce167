"""Each option of a contract is declared once; every part that uses the declaration is compared with it here."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trueup import Contract
from trueup.checks.scoring import FORMAT, Evaluation, Facts, Model
from trueup.cli.main import main
from trueup.contract import option_types
from trueup.contract.files.extends import WHOLE
from trueup.contract.files.shape import TAKES, file_schema
from trueup.contract.option_help import about_option, documented, told, type_of
from trueup.contract.options import DEFAULTS, FILE_KEYS, FILE_ONLY, OPTIONS, Option, options_in
from trueup.contract.text import text_of
from trueup.studio.contracts.kinds import OPENED, is_contract

DOCS = Path(__file__).resolve().parents[2] / "docs"
FACTS = Facts(labels=100, good=60, bad=40)
MODEL = Model(FORMAT, [1], [9], 1.0, 0.0, 1.0, 0.0, unfamiliar=1.0, facts=FACTS, evaluation=Evaluation(passed=True))
# For each option, a value that is not its default, with the other options that it needs.
SAMPLES: dict[str, dict[str, Any]] = {
    "schema": {"schema": {"type": "object"}},
    "tools": {"tools": [{"name": "ping"}]},
    "calls": {"tools": [{"name": "ping"}], "calls": {"parallel": False}},
    "order": {"tools": [{"name": "ping"}], "order": ["ping"]},
    "rules": {"schema": True, "rules": ["n > 0"]},
    "input": {"schema": True, "input": ["limit"]},
    "reply": {"reply": {"min_text": 5}},
    "states": {"states": {"start": "IDLE", "IDLE": {"forbid": {"term": "gratis"}}}},
    "fallbacks": {"fallbacks": {"default": "How can I help?"}},
    "checks": {"checks": [{"language": "en"}]},
    "quality": {"quality": {"model": msgspec.to_builtins(MODEL), "below": 0.4, "level": "warning"}},
    "relevance": {"relevance": {"below": 0.4, "level": "warning"}},
    "grounded": {"schema": True, "grounded": True},
    "accept": {"accept": "lossy"},
    "coerce": {"coerce": "eager"},
    "strict": {"strict": True},
    "max_size": {"max_size": 1_000},
    "max_depth": {"max_depth": 20},
    "name": {"name": "shop"},
    "language": {"language": "es"},
    "version": {"version": "2"},
}


def kept(contract: Contract, name: str) -> Any:
    """The value of an option that a contract stores; a model as plain data."""
    return msgspec.to_builtins(contract._given[name])


def test_every_option_has_a_sample() -> None:
    assert set(SAMPLES) == set(OPTIONS)


def test_the_signature_has_every_option_with_its_type_and_default() -> None:
    parameters = inspect.signature(Contract).parameters
    assert {name: each.default for name, each in parameters.items()} == DEFAULTS
    assert {name: each.annotation for name, each in parameters.items()} == {name: type_of(name) for name in OPTIONS}
    assert [name for name, each in parameters.items() if each.kind is not each.KEYWORD_ONLY] == ["schema"]


def test_a_subclass_with_its_own_constructor_has_its_own_signature() -> None:
    class Titled(Contract):
        def __init__(self, title: str) -> None:
            super().__init__(name=title)

    class Plain(Contract):
        pass

    assert list(inspect.signature(Titled).parameters) == ["title"]
    assert list(inspect.signature(Plain).parameters) == list(OPTIONS)


@pytest.mark.parametrize("name", OPTIONS)
def test_the_docstring_has_a_line_for_it(name: str) -> None:
    assert f"- `{name}`: {about_option(name)}\n" in (Contract.__doc__ or "")
    assert documented(None) is None, "as under `python -OO`"


@pytest.mark.parametrize("name", OPTIONS)
def test_the_types_of_its_declaration_can_be_found(name: str) -> None:
    words = re.findall(r"\b[A-Z]\w+", type_of(name))
    from trueup.contract import options

    known = {**vars(option_types), **vars(options), "Options": 1, "Mapping": 1, "Sequence": 1, "None": None, "Any": Any}
    assert not [word for word in words if word not in known]


@pytest.mark.parametrize("name", OPTIONS)
def test_type_checkers_see_it_where_options_are_passed_on(name: str) -> None:
    assert name in option_types.Loaded.__optional_keys__
    assert (name in option_types.ContractOptions.__optional_keys__) == (name != "schema")
    assert (name in option_types.OtherOptions.__optional_keys__) == (name not in {"schema", "tools", "calls"})


@pytest.mark.parametrize("name", OPTIONS)
def test_a_contract_takes_it_and_remembers_it(name: str) -> None:
    contract = Contract(**SAMPLES[name])
    assert kept(contract, name) == SAMPLES[name][name]
    assert kept(Contract(), name) == OPTIONS[name].default


@pytest.mark.parametrize("name", OPTIONS)
def test_a_misspelled_one_is_named(name: str) -> None:
    with pytest.raises(TypeError, match=f"^Contract has no option '{name}x'; did you mean '{name}'"):
        Contract(**{f"{name}x": None})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", OPTIONS)
def test_the_line_for_people_shows_it_unless_it_is_the_default(name: str) -> None:
    assert told("", DEFAULTS) == ""
    hidden = OPTIONS[name].default == ""
    assert (name in told("", {**DEFAULTS, **SAMPLES[name]})) != hidden


@pytest.mark.parametrize("name", OPTIONS)
def test_the_text_has_it_unless_it_is_the_default(name: str) -> None:
    assert f'"{name}":' in text_of(Contract(**SAMPLES[name]))
    assert text_of(Contract()) == '{"portable":true,"options":{}}'


@pytest.mark.parametrize("name", OPTIONS)
def test_it_counts_in_the_fingerprint_unless_it_is_declared_not_to(name: str) -> None:
    others = {key: value for key, value in SAMPLES[name].items() if key != name}
    differs = Contract(**SAMPLES[name]).fingerprint != Contract(**others).fingerprint
    assert differs == (OPTIONS[name].counts != "never")


def test_a_contract_file_takes_exactly_the_keys_that_are_declared() -> None:
    assert set(TAKES) == set(FILE_KEYS) == set(file_schema()["properties"])
    assert set(FILE_KEYS) - set(OPTIONS) == set(FILE_ONLY)


@pytest.mark.parametrize("key", FILE_KEYS)
def test_its_key_in_a_file_has_the_declared_sentence_default_and_limits(key: str) -> None:
    option, shape = FILE_KEYS[key], file_schema()["properties"][key]
    assert shape["description"] == option.file_sentence
    assert option.file_sentence.endswith(".")
    assert shape.get("default", "") == ("" if option.default is None else option.default)
    assert (shape.get("minimum"), shape.get("maximum")) == (option.least, option.most)


@pytest.mark.parametrize("name", [name for name in OPTIONS if name in FILE_KEYS])
def test_a_file_gives_it_to_the_contract(name: str, tmp_path: Path) -> None:
    path = tmp_path / "contract.json"
    path.write_text(json.dumps({**SAMPLES[name], "description": "A sample."}), "utf-8")
    assert kept(Contract.load(path), name) == SAMPLES[name][name]


def test_keys_for_people_and_editors_are_not_options() -> None:
    assert options_in({**dict.fromkeys(FILE_ONLY), **dict.fromkeys(OPTIONS, 1)}).keys() == OPTIONS.keys()


def test_parts_that_belong_to_one_file_are_declared() -> None:
    assert WHOLE == {key for key, option in FILE_KEYS.items() if not option.merges} == {"schema", "examples"}


@pytest.mark.parametrize("key", FILE_KEYS)
def test_a_file_with_a_key_of_contracts_alone_is_one(key: str) -> None:
    assert (key in OPENED) == FILE_KEYS[key].identifies
    assert is_contract(f"{key}: [1]\n", ".yaml") == FILE_KEYS[key].identifies


@pytest.mark.parametrize("name", ["accept", "coerce", "max_size", "max_depth"])
def test_the_command_line_has_its_default_and_its_values(name: str) -> None:
    command: Any = main.get_command(None, "check")  # type: ignore[arg-type]
    option: Option = OPTIONS[name]
    (found,) = (each for each in command.params if each.name == name)
    assert found.default == option.default
    assert tuple(getattr(found.type, "choices", ())) == option.choices
    assert (getattr(found.type, "min", None), getattr(found.type, "max", None)) == (option.least, option.most)


@pytest.mark.parametrize("key", FILE_KEYS)
def test_the_guide_to_contract_files_has_it(key: str) -> None:
    rows = re.findall(r"^\| (`[^|]+) \|", (DOCS / "howto" / "contracts.md").read_text("utf-8"), re.MULTILINE)
    assert key == "$schema" or any(f"`{key}`" in row for row in rows)
