"""Bounds: every result of a tool has fewer than 4,000 tokens and says what it leaves out, and the rest can be read."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp_types import CallToolResult

from tests.mcp.large import FILE, LARGE, LONG, make_large_place
from tests.mcp.stage import PEOPLE, Place, call, inside, run, text_of
from tests.mcp.tokenizers import counters, most
from trueup.mcp import caller
from trueup.mcp.answer import LIMIT, AnswerSection, PageRequest, ToolAnswer, render, size
from trueup.mcp.fence import Fenced
from trueup.mcp.table import BY_NAME
from trueup.mcp.workspace import Kept
from trueup.studio.refusal import RequestRefused


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return make_large_place(tmp_path_factory.mktemp("bounds"))


def assert_bounded(result: CallToolResult) -> None:
    whole = result.model_dump_json(by_alias=True, exclude_none=True)
    assert most(whole) < LIMIT, {name: count(whole) for name, count in counters().items()}


async def follow(client: Client, result: CallToolResult, calls: int) -> int:
    """Read the rest as `omitted` says, and return the number of calls."""
    made = 0
    waiting = list(result.structured_content["omitted"]) if result.structured_content else []
    while waiting and made < calls:
        more = waiting.pop(0)
        rest = await client.call_tool(more["tool"], more["arguments"])
        made += 1
        assert_bounded(rest)
        assert not rest.is_error or "faults" in rest.structured_content, (more, text_of(rest))
        waiting += rest.structured_content["omitted"]
    return made


@pytest.mark.parametrize("tool", BY_NAME)
def test_every_result_is_bounded_and_the_rest_can_be_read(place: Place, tool: str) -> None:
    async def work() -> int:
        omitting = 0
        async with inside(place.workspace()) as client:
            for arguments in LARGE[tool]:
                result = await client.call_tool(tool, arguments)
                assert_bounded(result)
                assert result.structured_content is not None, text_of(result)
                assert "omitted:" in text_of(result)
                omitting += bool(await follow(client, result, 6))
        return omitting

    if tool == "edit":
        return _edit_is_bounded(place)
    assert run(work) >= 1
    return None


def _edit_is_bounded(place: Place) -> None:
    async def work() -> None:
        async with inside(place.workspace(allow_edit=True)) as client:
            listed = (await client.call_tool("lint", {"contract": LONG})).structured_content
            arguments = {
                "contract": LONG,
                "hash": listed["hash"],
                "text": "name: long\nschema: true\n",
                "judged_by": "",
            }
            result = await client.call_tool("edit", arguments)
            assert_bounded(result)
            assert await follow(client, result, 6) == 6
            refused = await client.call_tool(
                "edit", {**arguments, "hash": result.structured_content["hash"], "text": "rules: [1]\n" * 500}
            )
            assert refused.is_error
            assert_bounded(refused)

    run(work)


def test_one_stored_reply_is_read_to_its_end(place: Place) -> None:
    async def work() -> str:
        async with inside(place.workspace()) as client:
            row = (await client.call_tool("examples", {"words": "order of"})).structured_content["replies"][0]
            result = await client.call_tool("examples", {"verdict": row["verdict"]})
            read = ""
            while True:
                assert_bounded(result)
                data = result.structured_content
                read += data["reply"].split("\n", 1)[1].rsplit("\n", 1)[0]
                more = [each for each in data["omitted"] if each["arguments"].get("section") == "reply"]
                if not more:
                    return read
                result = await client.call_tool("examples", more[0]["arguments"])

    assert run(work).count("The order of") == 400


def test_every_row_of_a_list_is_read_once(place: Place) -> None:
    async def work() -> list[str]:
        async with inside(place.workspace()) as client:
            result = await client.call_tool("lint", {})
            files = []
            while True:
                files += [row["contract"] for row in result.structured_content["files"]]
                more = [
                    each for each in result.structured_content["omitted"] if each["arguments"]["section"] == "files"
                ]
                if not more:
                    return files
                result = await client.call_tool("lint", more[0]["arguments"])

    files = run(work)
    assert len(files) == len(set(files)) == 123


def test_older_replies_follow_by_the_cursor(place: Place) -> None:
    async def work() -> set[str]:
        async with inside(place.workspace()) as client:
            arguments: dict[str, Any] = {}
            seen: set[str] = set()
            while True:
                result = (await client.call_tool("examples", arguments)).structured_content
                seen |= {row["verdict"] for row in result["replies"]}
                rows = [each for each in result["omitted"] if each["what"].startswith("replies ")]
                older = [each for each in result["omitted"] if "cursor" in each["arguments"]]
                if not rows and not older:
                    return seen
                arguments = (rows or older)[0]["arguments"]

    assert len(run(work)) == 170


def test_a_deleted_result_says_what_to_do(place: Place) -> None:
    async def work() -> None:
        async with inside(place.workspace()) as client:
            for arguments, said in (
                ({"result": "00000000", "section": "files"}, "Call lint with its other arguments again"),
                ({"section": "nothing"}, "Its sections: files"),
                ({"section": "files", "start": 5_000}, "files has"),
                ({"start": 5}, "start is given without section"),
                ({"section": "files", "start": -1}, "start must be"),
            ):
                result = await client.call_tool("lint", arguments)
                assert result.is_error
                assert said in text_of(result), text_of(result)

    run(work)


ROWS = st.lists(
    st.fixed_dictionaries(
        {"code": st.sampled_from(["V001", "S008"]), "n": st.integers(), "message": st.text(max_size=2_000).map(Fenced)}
    ),
    max_size=60,
)


@given(st.lists(ROWS, max_size=3), st.text(max_size=30_000).map(Fenced))
def test_any_answer_is_rendered_within_the_limit(lists: list[list[dict[str, Any]]], text: str) -> None:
    sections = [AnswerSection(f"rows{at}", list(rows)) for at, rows in enumerate(lists)]
    answer = ToolAnswer({"ok": False}, (*sections, AnswerSection("text", text)))
    shown = render(answer, PageRequest("check", "abcd1234"))
    written = json.dumps({"text": shown.text, "data": shown.data}, ensure_ascii=False)
    assert most(written.encode("utf-8", "replace").decode()) < LIMIT
    for section in sections:
        length = len(shown.data[section.name])
        left_out = any(each["arguments"]["section"] == section.name for each in shown.data["omitted"])
        assert length == len(section.content) or left_out


TEXTS = ("0123456789", "订单无法确认。", "\U0001f680\u00e9\u4e2d", "kX9qZ-/+", "The order is late. ")


def pages(answer: ToolAnswer) -> dict[str, dict[int, str]]:
    """Everything that an answer shows if each call in `omitted` is made: the pieces of each text, by their start."""
    shown: dict[str, dict[int, str]] = {}

    def note(name: str, start: int, fenced: str) -> None:
        pieces = shown.setdefault(name, {})
        pieces[start] = max(pieces.get(start, ""), fenced.split("\n", 1)[1].rsplit("\n", 1)[0], key=len)

    waiting, made = [PageRequest("check", "abcd1234")], set()
    while waiting:
        asked = waiting.pop()
        if asked in made:
            continue
        made.add(asked)
        rendered = render(answer, asked)
        assert size(rendered) < LIMIT
        for name, content in rendered.data.items():
            if name == "rows":
                for at, row in enumerate(content, asked.start + 1):
                    note(f"rows/{at}/message", 0, row["message"])
            elif name == "model":
                note("facts/model", 0, content)
            elif name == asked.section or name == "text":
                note(name, asked.start, content)
        waiting += [PageRequest(each["tool"], **each["arguments"]) for each in rendered.data["omitted"]]
    return shown


@pytest.mark.parametrize("letters", TEXTS)
def test_the_calls_in_omitted_show_every_character(letters: str) -> None:
    lengths = (10, 9_000, 2_400, 330, 2_401, 100, 6_000)
    rows = [
        {"code": "V001", "message": Fenced(f"{at} {letters * 9_000}"[:length])} for at, length in enumerate(lengths)
    ]
    facts = {"ok": False, "model": Fenced(letters * 300)}
    answer = ToolAnswer(facts, (AnswerSection("rows", rows), AnswerSection("text", Fenced(letters * 2_000))))
    wanted = {f"rows/{at}/message": row["message"] for at, row in enumerate(rows, 1)}
    wanted |= {"facts/model": facts["model"], "text": letters * 2_000}
    shown = pages(answer)
    assert set(shown) == set(wanted)
    for name, text in wanted.items():
        read = ""
        for start, piece in sorted(shown[name].items()):
            assert start <= len(read), f"{name} has a gap before {start}"
            read = read[:start] + piece if start + len(piece) > len(read) else read
        assert read == text


def test_the_arguments_of_a_call_are_read_to_their_end(place: Place) -> None:
    arguments = json.dumps({"a": " ".join(f"{number:05}" for number in range(2_000))})
    called = {"type": "function", "id": "1", "function": {"name": "f", "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [called]}
    response = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "object": "chat.completion"}

    async def work() -> str:
        async with inside(place.workspace()) as client:
            given = {"reply": json.dumps(response), "response": True, "text": "schema: true\ntools: [{name: f}]\n"}
            result = await client.call_tool("check", given)
            read = ""
            while omitted := result.structured_content["omitted"]:
                wanted = omitted[0]["arguments"]
                result = await client.call_tool(omitted[0]["tool"], wanted)
                assert_bounded(result)
                piece = result.structured_content[wanted["section"]]
                fenced = piece if isinstance(piece, str) else piece[0]["arguments"]
                read += fenced.split("\n", 1)[1].rsplit("\n", 1)[0]
            return read

    assert json.loads(run(work)) == json.loads(arguments)


@pytest.mark.parametrize(
    "path",
    ["files/1/x", "files/0/contract", "files/x/contract", "files/9/contract", "facts", "facts/contracts", "a/b/c"],
)
def test_a_path_that_names_no_text_is_refused(place: Place, path: str) -> None:
    async def work() -> None:
        async with inside(place.workspace()) as client:
            result = await client.call_tool("lint", {"section": path})
            assert result.is_error
            assert "has no section" in text_of(result)

    run(work)


def test_an_error_is_short_in_any_script() -> None:
    for letters in TEXTS:
        result = caller._error(RequestRefused(400, letters * 1_000))
        assert most(result.content[0].text) <= 1_600


def test_only_results_with_a_rest_are_kept(place: Place) -> None:
    async def work() -> None:
        workspace = place.workspace()
        async with inside(workspace) as client:
            rest = (await client.call_tool("lint", {})).structured_content["omitted"][0]
            for _ in range(40):
                await client.call_tool("explain", {"code": "S001"})
            assert not (await client.call_tool(rest["tool"], rest["arguments"])).is_error

    run(work)


def test_the_kept_results_have_a_limited_size() -> None:
    kept = Kept()
    answer = ToolAnswer({}, (AnswerSection("text", Fenced("x" * 20_000_000)),))
    names = [kept.put("check", answer) for _ in range(4)]
    for name in names[2:]:
        assert kept.get("check", name) == answer
    for name in names[:2]:
        with pytest.raises(RequestRefused, match="not kept"):
            kept.get("check", name)


def test_a_verdict_says_what_it_does_not_show(place: Place) -> None:
    arguments = json.dumps({"a": list(range(30_000))})
    called = {"type": "function", "id": "1", "function": {"name": "f", "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [called]}
    response = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "object": "chat.completion"}
    tools = {"response": True, "text": "schema: true\ntools: [{name: f}]\n"}
    for arguments_of, said in (
        ({"reply": json.dumps(list(range(200_000)))}, "the value after"),
        ({"reply": "[" + "{'a': 1,}, " * 4_000}, "further findings and fixes"),
        ({"reply": json.dumps(response), **tools}, "arguments of calls after"),
    ):
        data = call(place.workspace(), "check", **arguments_of).structured_content
        assert said in data["not_shown"][0]
    assert "not_shown" not in call(place.workspace(), "check", reply="[1]").structured_content


def test_a_backtest_says_how_many_flips_it_does_not_list(place: Place) -> None:
    replies = [json.dumps({"name": f"Ada {number} {'la ' * 300}", "age": 20}) for number in range(520)]
    lines = [json.dumps({"unit_id": str(number), "raw_response": reply}) for number, reply in enumerate(replies)]
    (place.folder / "many.jsonl").write_text("\n".join(lines))
    text = PEOPLE.replace("age >= 18", "age >= 30").partition("examples")[0]
    given = {"contract": FILE, "sources": ["contracts/many.jsonl"], "text": text}
    data = call(place.workspace(), "backtest", **given).structured_content
    (place.folder / "many.jsonl").unlink()
    assert data["newly_refused"] == 520
    assert data["not_listed"].startswith("20 of 520 flips.")
    assert "shortened" in data["excerpts"]
