"""Coercion can be set in every place and every command that takes a schema; one table lists them all."""

import json
from pathlib import Path
from typing import Any, Protocol

import click
import pytest

from tests.batch.pipeline.making import asking, reply, run_pipeline, write_pipeline
from tests.cli.running import Run
from trueup import Contract
from trueup.batch.pipeline.lint.run import lint_pipeline
from trueup.cli.main import COMMANDS, main
from trueup.conform.options import Options
from trueup.gateway.settings import read_config
from trueup.testing.server import ScriptedServer

SCHEMA = {
    "type": "object",
    "properties": {"tone": {"enum": ["warm", "cold"]}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}}, "total": {"type": "integer"}},
    "required": ["tone", "tags", "total"],
}  # fmt: skip
REPLY = '{"tone": "mostly warm", "tags": "a + b", "sum": 3}'
VALUE = {"tone": "warm", "tags": ["a", "b"], "total": 3}
SAID = {"enum_prefixes": ["mostly "], "enum_delimiters": [" + "], "aliases": {"total": ["sum"]}}
TYPED = ["--enum-prefix", "mostly ", "--enum-delimiter", " + ", "--alias", "total=sum"]
# Commands that only describe a schema to a model.
DESCRIBE = {"instructions"}


class Place(Protocol):
    def __call__(self, run: Run, folder: Path, /, *, said: bool) -> Any: ...


def by_contract(_: Run, __: Path, *, said: bool) -> Any:
    return Contract(SCHEMA, coerce=SAID if said else "standard").check(REPLY).data


def by_options(_: Run, __: Path, *, said: bool) -> Any:
    options = Options(enum_prefixes=("mostly ",), enum_delimiters=(" + ",), aliases={"total": ["sum"]})
    return Contract(SCHEMA, coerce=options if said else Options()).check(REPLY).data


def by_file(_: Run, folder: Path, *, said: bool) -> Any:
    (folder / "c.json").write_text(json.dumps({"schema": SCHEMA, **({"coerce": SAID} if said else {})}), "utf-8")
    return Contract.load(folder / "c.json").check(REPLY).data


def by_check(run: Run, _: Path, *, said: bool) -> Any:
    done = run("check", "-s", "s.json", "--value", *(TYPED if said else []), stdin=REPLY)
    return json.loads(done.out) if done.code == 0 else None


def by_check_over_a_contract(run: Run, folder: Path, *, said: bool) -> Any:
    (folder / "c.json").write_text(json.dumps({"schema": SCHEMA, "coerce": {"aliases": {"total": ["sum"]}}}), "utf-8")
    done = run("check", "-c", "c.json", "--value", *(TYPED[:4] if said else []), stdin=REPLY)
    return json.loads(done.out) if done.code == 0 else None


def by_schema(run: Run, _: Path, *, said: bool) -> Any:
    done = run("schema", "s.json", *(TYPED if said else []), stdin=json.dumps({"unit_id": "a", "raw_response": REPLY}))
    return json.loads(done.out)["data"] if done.code == 0 else None


def by_sift(run: Run, folder: Path, *, said: bool) -> Any:
    (folder / "in.jsonl").write_text(json.dumps({"unit_id": "a", "raw_response": REPLY}) + "\n", "utf-8")
    run("sift", "in.jsonl", "-s", "s.json", "-o", "out", *(TYPED if said else []))
    rows = (folder / "out" / "validated.jsonl").read_text("utf-8").splitlines()
    return json.loads(rows[0])["data"] if rows else None


def by_revalidate(run: Run, folder: Path, *, said: bool) -> Any:
    by_sift(run, folder, said=False)
    run("revalidate", "out", "-s", "s.json", "-o", "again", *(TYPED if said else []))
    rows = (folder / "again" / "validated.jsonl").read_text("utf-8").splitlines()
    return json.loads(rows[0])["data"] if rows else None


def by_ask(run: Run, _: Path, *, said: bool) -> Any:
    with ScriptedServer([REPLY], then=REPLY) as server:
        args = ("--url", f"{server.url}/v1", "-s", "s.json", "--repairs", "0", "-q", *(TYPED if said else []), "Go.")
        done = run("ask", *args)
    return json.loads(done.out) if done.code == 0 else None


def by_pipeline(_: Run, folder: Path, *, said: bool) -> Any:
    step = {**asking("ask", SCHEMA, rules={"required": ["tone"]}), **({"coerce": SAID} if said else {})}
    return ran(write_pipeline(folder / "p", [step], [{"id": "a"}], reply("ask", "a", REPLY)))


def by_schemas_of_a_pipeline(_: Run, folder: Path, *, said: bool) -> Any:
    step = asking("ask", SCHEMA, rules={"required": ["tone"]})
    write_pipeline(folder / "p", [step], [{"id": "a"}], reply("ask", "a", REPLY))
    config = json.loads((folder / "p" / "config.yaml").read_text("utf-8"))
    config["schemas"] |= {"coerce": SAID} if said else {}
    (folder / "p" / "config.yaml").write_text(json.dumps(config), "utf-8")
    assert lint_pipeline(folder / "p") == ()
    return ran(folder / "p")


def ran(folder: Path) -> Any:
    valid = run_pipeline(folder, folder.parent / "run").valid
    return {name: valid[0][name] for name in VALUE} if valid else None


def by_route(_: Run, folder: Path, *, said: bool) -> Any:
    (folder / "c.json").write_text(json.dumps({"schema": SCHEMA, **({"coerce": SAID} if said else {})}), "utf-8")
    config = {
        "upstreams": {"up": {"url": "http://127.0.0.1:1/v1", "private": True}}, "contracts": {"tone": "c.json"},
        "routes": [{"name": "r", "models": ["m"], "contract": "tone", "upstream": "up"}],
    }  # fmt: skip
    (folder / "gateway.json").write_text(json.dumps(config), "utf-8")
    found, faults = read_config(str(folder / "gateway.json"))
    assert found is not None, faults
    contract = found.routes[0].contract
    assert contract is not None
    return contract.check(REPLY).data


PLACES: list[Place] = [
    by_contract, by_options, by_file, by_check, by_check_over_a_contract, by_schema, by_sift, by_revalidate, by_ask, by_pipeline,
    by_schemas_of_a_pipeline, by_route,
]  # fmt: skip


@pytest.mark.spec("B4")
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_enum_prefixes_delimiters_and_aliases_can_be_set(run: Run, tmp_path: Path, place: Place) -> None:
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA), "utf-8")
    assert place(run, tmp_path, said=False) != VALUE, "not without a word"
    for file in ("out", "again", "run", "p"):
        (tmp_path / file).rename(tmp_path / f"{file}-before") if (tmp_path / file).exists() else None
    assert place(run, tmp_path, said=True) == VALUE


def test_every_command_that_takes_a_schema_takes_the_options_of_coercion() -> None:
    options = {"coerce", "enum_prefix", "enum_delimiter", "alias"}
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        assert command is not None
        names = {option.name for option in command.params}
        metavars = {option.metavar for option in command.params}
        if ("schema" in names or "SCHEMA" in metavars) and name not in DESCRIBE:
            assert options <= names, name


@pytest.mark.parametrize(
    ("coerce", "said"),
    [
        ({"enum_prefix": ["x"]}, "coerce has no option 'enum_prefix'; did you mean 'enum_prefixes'?"),
        ({"enum_prefixes": 3}, "coerce: Expected `array`, got `int`"),
        ("much", "coerce must be one of off, standard, eager, Options, or a mapping of"),
        (None, "coerce must be one of"),
    ],
)
def test_coercion_that_cannot_be_read_is_refused(coerce: Any, said: str) -> None:
    with pytest.raises(ValueError, match="coerce") as refused:
        Contract(SCHEMA, coerce=coerce)
    assert said in str(refused.value)


def test_an_alias_is_written_with_both_names(run: Run) -> None:
    done = run("check", "-s", '{"type": "object"}', "--alias", "total", stdin="{}")
    assert (done.code, "write NAME=OTHER" in done.err) == (2, True)


def test_options_that_a_contract_already_sets_are_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps({"schema": SCHEMA}), "utf-8")
    done = run("sift", "in.jsonl", "-c", "c.json", "-o", "out", "--enum-prefix", "x")
    assert (done.code, "leave out --enum-prefix" in done.err) == (2, True)
