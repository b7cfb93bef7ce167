"""Edits: they need the hash, report the effect of the change, and never leave a damaged file."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CallToolResult

from tests.mcp.stage import PEOPLE, Place, call, inside, make_place, run, text_of

FILE = "contracts/people.yaml"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


def hash_of(place: Place) -> str:
    return hashlib.sha256(place.file.read_bytes()).hexdigest()


def edit(place: Place, *, allow: bool = True, **arguments: Any) -> CallToolResult:
    return call(place.workspace(allow_edit=allow), "edit", **{"contract": FILE, "hash": hash_of(place), **arguments})


def test_an_edit_saves_the_file_and_gives_lint_and_a_backtest(place: Place) -> None:
    result = edit(place, old="age >= 18", new="age >= 30")
    assert not result.is_error, text_of(result)
    data = result.structured_content
    assert "age >= 30" in place.file.read_text()
    assert data["hash"] == hash_of(place)
    assert data["saved"] is True
    assert (data["errors"], data["warnings"]) == (0, 0)
    assert data["backtest"]["newly_refused"] > 0
    assert data["backtest"]["total"] == 40
    assert data["flips"][0]["kind"] == "newly_refused"
    assert "+    expr: age >= 30" in data["diff"]


@pytest.mark.spec("X46")
def test_a_wrong_hash_is_refused_without_the_right_one(place: Place) -> None:
    before = place.file.read_bytes()
    result = edit(place, hash="0" * 64, text="schema: true\n")
    assert result.is_error
    assert hash_of(place) not in text_of(result), "the model must read the file first"
    assert "Nothing was written" in text_of(result)
    assert "Read the file again with `lint`" in text_of(result)
    assert place.file.read_bytes() == before


def test_without_permission_the_tool_is_neither_listed_nor_run(place: Place) -> None:
    async def listed(*, allow_edit: bool) -> list[str]:
        async with inside(place.workspace(allow_edit=allow_edit)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert "edit" not in run(lambda: listed(allow_edit=False))
    assert "edit" in run(lambda: listed(allow_edit=True))
    before = place.file.read_bytes()
    result = edit(place, allow=False, text="schema: true\n")
    assert "--allow-edit" in text_of(result)
    assert place.file.read_bytes() == before


def test_a_text_with_errors_is_refused_with_its_faults(place: Place) -> None:
    before = place.file.read_bytes()
    result = edit(place, old="expr: age >= 18", new="expr: agee >= 18 +")
    assert result.is_error
    assert result.structured_content["saved"] is False
    assert result.structured_content["faults"][0]["line"] == 10
    assert place.file.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"old": "nowhere", "new": "x"}, "`old` is not in the file"),
        ({"old": "age", "new": "x"}, "`old` is in the file"),
        ({"old": "\n    ", "new": "x"}, "`old` is in the file more than once"),
        ({}, "Neither `text` nor `old`"),
        ({"text": "a", "old": "b"}, "Both `text` and `old`"),
        ({"text": "just words"}, "people.yaml has 1 error"),
        ({"contract": "contracts/other.yaml", "text": "schema: true\n"}, "There is no file"),
        ({"old": "age >= 18", "new": "age >= 19", "limit": -1}, "limit must be"),
        ({"old": "age >= 18", "new": "age >= 19", "since": "soon"}, "since 'soon' is not a time"),
        ({"hash": 5}, "hash must be text"),
        ({"force": True}, "edit has no argument 'force'"),
    ],
)
def test_bad_arguments_change_nothing_and_say_what_to_do(place: Place, arguments: dict[str, Any], said: str) -> None:
    before = place.file.read_bytes()
    result = edit(place, **arguments)
    assert result.is_error
    assert said in text_of(result)
    assert place.file.read_bytes() == before


@pytest.mark.spec("X46")
def test_one_of_many_edits_at_once_wins_and_the_file_stays_whole(place: Place) -> None:
    before = hash_of(place)

    def change(number: int) -> CallToolResult:
        text = f"{PEOPLE}description: number {number}\n"
        return call(place.workspace(allow_edit=True), "edit", contract=FILE, hash=before, text=text, limit=0)

    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(change, range(6)))
    saved = [number for number, result in enumerate(results) if not result.is_error]
    assert len(saved) == 1
    assert place.file.read_text() == f"{PEOPLE}description: number {saved[0]}\n"
    assert sorted(path.name for path in place.folder.iterdir()) == ["people.yaml"]


def test_line_ends_and_permissions_stay(place: Place) -> None:
    place.file.write_bytes(PEOPLE.replace("\n", "\r\n").encode())
    place.file.chmod(0o640)
    assert not edit(place, old="age >= 18", new="age >= 21", limit=0).is_error
    assert b"age >= 21\r\n" in place.file.read_bytes()
    assert place.file.stat().st_mode & 0o777 == 0o640


def test_a_change_without_an_effect_does_not_need_a_backtest(place: Place) -> None:
    data = edit(place, text=f"# a comment\n{PEOPLE}").structured_content
    assert data["backtest"]["conclusion"].startswith("Nothing can flip")


def test_without_a_store_the_file_is_saved_and_the_result_says_why_there_is_no_backtest(place: Place) -> None:
    workspace = place.workspace(allow_edit=True)
    workspace.settings = type(workspace.settings)(keys=(), folders=(place.folder,))
    result = call(workspace, "edit", contract=FILE, hash=hash_of(place), old="age >= 18", new="age >= 19")
    assert result.structured_content["saved"] is True
    assert "--store" in result.structured_content["backtest"]["not_done"]


def test_the_rest_of_an_edit_is_read_by_a_tool_that_changes_nothing(place: Place) -> None:
    async def work() -> None:
        async with inside(place.workspace(allow_edit=True)) as client:
            arguments = {"contract": FILE, "hash": hash_of(place), "text": "name: people\nschema: true\n"}
            data = (await client.call_tool("edit", arguments)).structured_content
            more = [each for each in data["omitted"] if "arguments" in each]
            assert more
            assert {each["tool"] for each in more} == {"backtest"}
            rest = await client.call_tool(more[0]["tool"], more[0]["arguments"])
            assert not rest.is_error, text_of(rest)

    run(work)


def test_a_passage_that_overlaps_itself_is_not_unique(place: Place) -> None:
    place.file.write_text(f"{PEOPLE}# -----\n")
    result = edit(place, old="----", new="x")
    assert result.is_error
    assert "more than once" in text_of(result)
    assert place.file.read_text().endswith("# -----\n")


def test_the_contracts_that_extend_a_file_are_all_listed(place: Place) -> None:
    for number in range(12):
        (place.folder / f"of people {number}.yaml").write_text("extends: people.yaml\n")
    listed = call(place.workspace(), "lint", contract=FILE).structured_content
    assert len(listed["extended_by"]) == 12
    assert "contracts/of people 11.yaml" in str(listed["extended_by"])
