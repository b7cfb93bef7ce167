"""The data of the study is consistent, and its figures are counted correctly."""

import json
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
    for name in ("asking_tasks", "asking_report", "asking_grounded", "asking_grounded_report", "asking_wrong_cases"):
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


def test_the_tables_count_correctly(tasks: Any, tmp_path: Path) -> None:
    import asking_report

    def outcome(again: int, tokens: int, *, valid: bool) -> dict[str, Any]:
        return {"valid": valid, "right": False, "again": again, "tokens": tokens, "why": "" if valid else "V002,V005"}

    arms = [*(arm for arm, _ in [*asking_report.FREE, *asking_report.OTHER]), "held recovery"]
    rows = [
        {
            "id": f"{lang}",
            "task": "person",
            "lang": lang,
            "calls": False,
            **{arm: outcome(2, 100, valid=good) for arm in arms},
        }
        for lang, good in (("en", True), ("es", False))
    ]
    about = {"minutes": 1.0, "python": "3", "versions": {"trueup": "0"}}
    text = asking_report.tables({"rows": rows, "about": about})
    assert "| instructor, MD_JSON (tools: TOOLS) | 1 of 2 | 1 of 1 | 0 of 1 | – | 0 of 2 | 2.00 | 100 | 200 |" in text
    assert "`V002` 1, `V005` 1 (`whole`)" in text
    assert "not valid at first: `whole` 0 of 1, `fields` 0 of 1, as shipped 0 of 1." in text
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


UNSEEN = ("from elsewhere in the text", "left out")  # a search of the text cannot find these


def test_grounding_catches_typical_wrong_values_and_no_right_ones(tasks: Any) -> None:
    import asking_wrong_cases

    rows = asking_wrong_cases.cases()
    assert len({row.prompt for row in rows}) == len(rows) == 50
    assert {row.lang for row in rows} == {"en", "es", "de", "zh", "ja"}
    for row in rows:
        context = {"history": row.messages}
        for grounded in (False, True):
            contract = row.contract(grounded=grounded)
            assert contract.check(json.dumps(row.right), context).ok, row
            refused = not contract.check(json.dumps(row.wrong), context).ok
            assert refused == (grounded and row.kind not in UNSEEN), row


def test_a_caught_value_is_asked_for_again(tasks: Any) -> None:
    import asking_wrong_cases
    from trueup import Policy
    from trueup.ask.clients.http import Http
    from trueup.testing.server import ScriptedServer

    played = asking_wrong_cases.Server()
    policy = Policy(models=(asking_wrong_cases.MODEL,), backoff=0.001)
    with ScriptedServer(played.answer) as server:
        client = Http(server.url)
        for row in asking_wrong_cases.cases():
            played.begin(row)
            made = row.contract(grounded=True).ask(client, row.messages, policy).value
            caught = row.kind not in UNSEEN
            assert asking_wrong_cases.plain(made) == (row.right if caught else row.wrong)
            assert played.calls == (2 if caught else 1)
        client.close()


def _person(tasks: Any) -> Any:
    return next(row for row in tasks.tasks() if row.id == "person-en-1")


@pytest.mark.parametrize("improves", [True, False])
def test_grounding_is_measured_against_asking_blindly(tasks: Any, improves: bool) -> None:
    import asking_grounded
    import asking_grounded_report
    from trueup import Policy
    from trueup.ask.clients.http import Http
    from trueup.testing.server import ScriptedServer

    task = next(row for row in tasks.tasks() if row.id == "person-en-1")
    said: list[str] = []

    def answer(request: Any) -> str:
        said.append(request.fields["messages"][-1]["content"].removeprefix(task.prompt))
        return json.dumps(task.expect if improves and said[-1] else task.example.reply)

    with ScriptedServer(answer) as server:
        client = Http(server.url)

        def ask(contract: Any, policy: Policy, context: dict[str, Any]) -> Any:
            return contract.ask(client, tasks.messages(task), policy, context=context)

        policy = Policy(models=("scripted",), repairs=2, attempts=3, backoff=0.001, otherwise="failed")
        asking = asking_grounded.Asking(ask, lambda: None, policy)
        row = {"task": "person", "lang": "en", "calls": False, "judged": asking_grounded.judge(task, asking)}
        row["asked again"] = asking_grounded.ask_again(task, asking)
        with_evidence = [text for text in said if text]
        row["told"] = asking_grounded.ask_bare(task, asking)
        without = [text for text in said if text][len(with_evidence) :]
        client.close()
    plain = row["judged"]["plain"]
    assert (plain["valid"], plain["right"], plain["refused"]) == (True, False, True)
    assert row["asked again"]["evidence"]["right"] == row["told"]["told"]["right"] == improves
    assert all("34 years old" in text for text in with_evidence)
    assert all("This value is wrong." in text and "34" not in text for text in without)
    text = asking_grounded_report.tables({"rows": [row], "about": {"python": "3", "versions": {"trueup": "0"}}})
    assert "| – `person` | 1 of 1 | 1 | 1 | 0 | 0 | 0 |" in text
    assert "| number | 1 | 1 | 0 | 0 |" in text
    with_it, last = (
        ("1 | 0 | 0 | 2.00", "1 | 1 | 1 | 0 | 1 | 0") if improves else ("0 | 0 | 1 | 3.00", "1 | 0 | 0 | 0 | 0 | 0")
    )
    assert f"| **grounded, asked again with the evidence** | {with_it} |" in text
    assert "| grounded, asked again with a new seed | 0 | 0 | 1 | 3.00 |" in text
    assert "| not grounded, a new seed as often as with evidence | 0 | 1 | 0 |" in text
    assert f"| values to find | {last} |" in text


def test_a_reply_that_grounding_accepts_is_not_asked_for_again(tasks: Any) -> None:
    import asking_grounded

    task = next(row for row in tasks.tasks() if row.id == "person-en-1")
    verdict = asking_grounded.contract_of(task).check(json.dumps(task.expect))
    asked: list[Any] = []

    class Answer:
        attempts = ()

    def ask(contract: Any, policy: Any, context: dict[str, Any]) -> Any:
        asked.append(contract)
        made = Answer()
        made.verdict = verdict  # type: ignore[attr-defined]
        return made

    asking = asking_grounded.Asking(ask, lambda: None, None)
    assert asking_grounded.ask_again(task, asking) == asking_grounded.ask_bare(task, asking) == {}
    assert len(asked) == 2


def test_calls_are_judged_by_their_prompt(tasks: Any) -> None:
    import asking_grounded

    task = next(row for row in tasks.tasks() if row.id == "money_or_alarm-en-2")
    verdict = asking_grounded.contract_of(task).check(json.dumps({"tool_calls": [task.example.reply]}))
    found = asking_grounded.judged(task, verdict, asking_grounded.source_of(task))
    assert (found["valid"], found["right"], found["refused"]) == (True, False, True)
    assert [one["refused"] for one in found["fields"]] == [True, True]
    wrong_tool = asking_grounded.fields({"name": "convert", "arguments": {"amount": 1}}, task.example.reply, set())
    assert wrong_tool == []


def test_recorded_replies_are_judged_without_a_model(tasks: Any, tmp_path: Path) -> None:
    import asking_grounded

    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    row = {"messages": [{"role": "user", "content": "Ana is 34."}], "schema": schema, "raw_output": '{"age": 43}'}
    rows = [
        row,
        {**row, "expect": {"age": 34}},
        {**row, "raw_output": '{"age": 34}', "expect": {"age": 34}},
        {**row, "raw_output": "no"},
        {"raw_output": "{}"},
    ]
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), "utf-8")
    told = asking_grounded.replies(path)
    assert "5 rows, 4 of them with prompt and schema" in told
    assert "3 valid replies, 2 of them refused" in told
    assert "known values: 1 wrong, 1 of them caught; 1 right, 0 of them refused" in told
