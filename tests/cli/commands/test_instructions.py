"""`trueup instructions`: prints the instructions of `ask`, or a provider's strict schema."""

import json
from pathlib import Path

import pytest

from tests.cli.running import PERSON, Run
from trueup import Contract

SCHEMA = json.loads(PERSON)


@pytest.mark.parametrize("form", ["form", "json-schema", "typescript"])
@pytest.mark.parametrize("language", ["en", "es"])
def test_the_words_are_the_same_as_in_the_library(run: Run, form: str, language: str) -> None:
    done = run("instructions", "-s", PERSON, "--format", form, "--language", language)
    assert (done.code, done.err) == (0, "")
    assert done.out == Contract(SCHEMA).instructions(form, language) + "\n"  # type: ignore[arg-type]


def test_a_contract_file_and_its_tools_are_described(run: Run, tmp_path: Path) -> None:
    tools = [{"name": "ping", "description": "Is it up?", "parameters": {"type": "object"}}]
    (tmp_path / "c.json").write_text(json.dumps({"schema": SCHEMA, "tools": tools, "language": "es"}), "utf-8")
    contract = Contract(SCHEMA, tools=tools, language="es")
    assert run("instructions", "-c", "c.json").out == contract.instructions() + "\n"
    assert run("instructions", "-c", "c.json", "--no-tools").out == contract.instructions(tools=False) + "\n"


def test_the_strict_schema_of_a_provider_is_printed(run: Run) -> None:
    done = run("instructions", "-s", PERSON, "--strict", "openai")
    assert (done.code, json.loads(done.out)) == (0, Contract(SCHEMA).strict_schema("openai"))


def test_a_contract_that_asks_for_nothing_says_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"reply": {"min_text": 3}}', "utf-8")
    done = run("instructions", "-c", "c.json")
    assert (done.code, done.out) == (0, "")
    assert "any text is a valid reply" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no contract: give --contract, --schema or --tools"),
        (["-s", PERSON, "--format", "typescrip"], "did you mean 'typescript'?"),
        (["-s", PERSON, "--language", "eng"], "did you mean 'en'?"),
        (["-s", PERSON, "--strict", "opena"], "did you mean 'openai'?"),
        (["-s", '{"type": "object"}', "--strict", "openai"], "openai cannot enforce this schema: $: it takes any keys"),
        (["-t", "math:gcd", "--strict", "openai"], "this contract has no schema"),
    ],
)
def test_errors_are_reported_in_one_line(run: Run, words: list[str], said: str) -> None:
    done = run("instructions", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "Traceback" not in done.err
