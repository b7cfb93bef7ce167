"""The study of asking rests on data that holds together, and its figures are counted right."""

import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError


@pytest.fixture
def tasks(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(root / "bench"))
    import asking_tasks

    yield asking_tasks
    for name in ("asking_tasks", "asking_report"):
        sys.modules.pop(name, None)


def test_there_are_a_hundred_prompts_in_two_languages_and_two_kinds(tasks: Any) -> None:
    rows = tasks.tasks()
    assert len(rows) == len({row.id for row in rows}) == len({row.prompt for row in rows}) == 100
    assert sum(row.lang == "en" for row in rows) == sum(row.lang == "es" for row in rows) == 50
    assert sum(row.calls for row in rows) == 30
    assert {row.task for row in rows} == set(tasks.SCHEMAS) | set(tasks.TOOLS)


def test_examples_and_expected_values_fit_their_schemas(tasks: Any) -> None:
    for row in tasks.tasks():
        assert row.prompt != row.example.prompt
        if row.calls:
            for call in (row.expect, row.example.reply):
                tasks.TOOLS[row.task][call["name"]].model_validate(call["arguments"])
        else:
            model = tasks.SCHEMAS[row.task]
            model.model_validate(row.example.reply)
            try:
                model.model_validate({**row.example.reply, **row.expect})
            except ValidationError as error:
                pytest.fail(f"{row.id}: {error}")


def test_a_right_reply_is_known_by_its_values(tasks: Any) -> None:
    assert tasks.is_right({"name": "Ana", "age": 34}, {"name": "ana", "age": 34, "more": 1})
    assert not tasks.is_right({"name": "Ana", "age": 34}, {"name": "Ana", "age": 35})
    assert tasks.is_right({"name": "f", "arguments": {"a": 1}}, {"name": "f", "arguments": {"a": 1, "b": 2}})
    assert not tasks.is_right({"name": "f"}, None)


def test_the_tables_count_what_they_say(tasks: Any, tmp_path: Path) -> None:
    import asking_report

    def outcome(valid: bool, again: int, tokens: int) -> dict[str, Any]:
        return {"valid": valid, "right": False, "again": again, "tokens": tokens, "why": "" if valid else "V002,V005"}

    arms = [*(arm for arm, _ in [*asking_report.FREE, *asking_report.OTHER]), "held recovery"]
    rows = [
        {
            "id": f"{lang}",
            "task": "person",
            "lang": lang,
            "calls": False,
            **{arm: outcome(good, 2, 100) for arm in arms},
        }
        for lang, good in (("en", True), ("es", False))
    ]
    about = {"minutes": 1.0, "python": "3", "versions": {"trueup": "0"}}
    text = asking_report.tables({"rows": rows, "about": about})
    assert "| instructor, MD_JSON (tools: TOOLS) | 1 of 2 | 1 of 1 | 0 of 1 | – | 0 of 2 | 2.00 | 100 | 200 |" in text
    assert "`V002` 1, `V005` 1 (`whole`)" in text
    assert "asking again made valid: `whole` 0 of 1, `fields` 0 of 1, as shipped 0 of 1." in text
    page = tmp_path / "page.md"
    page.write_text(f"before\n{asking_report.MARKS[0]}\nearlier figures\n{asking_report.MARKS[1]}\nafter\n", "utf-8")
    asking_report.put(page, text)
    assert "earlier figures" not in page.read_text("utf-8")
    assert page.read_text("utf-8").startswith("before\n")
    assert page.read_text("utf-8").endswith("after\n")


@pytest.mark.spec("A7")
def test_twenty_typical_failures_cost_few_calls(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(root / "bench"))
    import asking_cases
    from trueup import Contract, Policy
    from trueup.ask.clients.http import Http
    from trueup.testing.server import ScriptedServer

    assert len(asking_cases.CASES) == 20
    played = asking_cases.Server()
    calls, valid = {False: 0, True: 0}, {False: 0, True: 0}
    policy = Policy(models=(asking_cases.MODEL,), backoff=0.001)
    with ScriptedServer(played.answer) as server:
        client = Http(server.url)
        for stubborn in (False, True):
            for case in asking_cases.CASES:
                played.begin(case, stubborn=stubborn)
                value = Contract(asking_cases.Order).ask(client, asking_cases.PROMPT, policy).value
                valid[stubborn] += asking_cases.is_valid(value)
                calls[stubborn] += played.calls
        client.close()
    sys.modules.pop("asking_cases", None)
    assert valid == {False: 20, True: 12}
    assert calls[False] == 28
    assert played.tokens > 0
