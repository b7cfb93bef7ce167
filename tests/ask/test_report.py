"""The report on many asks, and the progress line."""

import io
from typing import Any

import pytest

from tests.ask.stage import BAD, GOOD, PROSE, SCHEMA, Model, StageClock
from trueup import Contract, Policy, Price
from trueup.ask.cache import MemoryCache
from trueup.ask.clients.request import CallFailure
from trueup.ask.drivers.sync import ask
from trueup.ask.memory import Memory
from trueup.ask.report import Report
from trueup.verdict.events import Abandoned, FellBack, Sent, SteppedDown, Waiting
from trueup.watch.progress import Progress, _Line, later, said

CONTRACT = Contract(SCHEMA)


def reply(text: str) -> object:
    return {
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 10},
    }


@pytest.mark.spec("A12")
@pytest.mark.parametrize("by_events", [False, True])
def test_the_four_figures_for_each_model(by_events: bool) -> None:
    report = Report()
    prices = {"small": Price(1.0, 3.0)}
    for script in ([GOOD], [BAD, GOOD], [BAD], [PROSE]):
        clock = StageClock()
        answer = ask(
            CONTRACT, Model([reply(text) for text in script], clock), "Who?", Policy(models=("small",), prices=prices),
            on_event=report if by_events else None, clock=clock, wait=clock.wait, memory=Memory(),
        )  # fmt: skip
        if not by_events:
            report.add(answer)
    clock = StageClock()
    last = ask(CONTRACT, Model([GOOD]), "Who?", Policy(models=("large",)), on_event=report if by_events else None)
    if not by_events:
        report.add(last)
    small, large = report.rows["small"], report.rows["large"]
    assert (small.asks, small.parse_rate, small.schema_rate, small.first_rate) == (4, 0.75, 0.5, 0.25)
    assert (small.mean_repairs, small.fallback_rate) == (5 / 4, 0.5)
    assert small.tokens == 9 * 20
    assert small.cost == pytest.approx(9 * (10 * 1 + 10 * 3) / 1e6)
    assert (large.tokens, large.cost) == (None, None)
    assert "unknown" in str(report)
    assert report.to_dict()["models"][0]["schema_rate"] == 0.5


@pytest.mark.spec("A10")
def test_the_line_shows_the_current_step_and_is_safe_to_print() -> None:
    out = io.StringIO()
    clock = StageClock()
    script = [CallFailure("slow down", "rate", 429, 2.0), BAD, PROSE, GOOD]
    with Progress(out) as progress:
        ask(CONTRACT, Model(script, clock), "Who?", on_event=progress, clock=clock, wait=clock.wait, memory=Memory())
    assert out.getvalue().splitlines() == [
        "trueup: waiting 2.5 s: rate limited (retry 1)",
        "trueup: repairing the reply, 1 of 2: the reply is not valid",
        "trueup: mode json_schema was rejected, trying json_object",
        "trueup: repairing the reply, 2 of 2: the reply is prose",
    ]
    assert said(FellBack(reason="repairs")) == "returning the configured reply: repairs"
    evil = SteppedDown(what="model", before="a\x1b[2J[red]", after="b\n")
    out = io.StringIO()
    Progress(out)(evil)
    assert out.getvalue() == "trueup: model a\\u001b[2J[red] was rejected, trying b\\n\n"


def test_on_a_terminal_one_line_is_redrawn_and_removed() -> None:
    out = io.StringIO()
    with Progress(out, live=True) as progress:
        progress(Waiting(delay=1.0, reason="rate", nth=1))
        progress(SteppedDown(before="[/foo]", after="x"))
    shown = out.getvalue()
    assert "[/foo]" in shown
    assert shown.rstrip("\n\r").endswith(("\x1b[2K", "\x1b[?25h", "\x1b[1A\x1b[2K"))


def test_the_rest_of_a_call_or_a_wait_is_counted_down() -> None:
    sent = Sent(model="m", attempt=2, limit=12, timeout=30.0)
    assert said(sent) == "asking m, call 2 of at most 12, 30 s left"
    assert said(later(sent, 12.4)) == "asking m, call 2 of at most 12, 18 s left"
    assert said(later(sent, 99.0)).endswith(", 0 s left")
    assert said(later(Sent(attempt=1, limit=12), 5.0)) == "asking, call 1 of at most 12"
    assert said(later(Waiting(delay=3.0, reason="rate", nth=1), 1.0)).startswith("waiting 2.0 s:")
    assert "still running" in said(Abandoned(timeout=1.0))


def test_the_line_is_made_again_each_time_it_is_drawn() -> None:
    moments = iter([0.0, 0.0, 21.0])
    line = _Line(Sent(attempt=1, limit=12, timeout=30.0), lambda: next(moments))
    assert [line.__rich__().plain.rpartition(", ")[2] for _ in range(2)] == ["30 s left", "9 s left"]


def test_calls_that_broke_off_count_and_replies_from_the_cache_cost_nothing() -> None:
    def late(messages: Any) -> str:
        raise TimeoutError("late")

    def counted(messages: Any) -> object:
        return reply(GOOD)

    told, added = Report(), Report()
    policy = Policy(retries=0, prices={"*": Price(1.0, 1.0)})
    added.add(Contract(SCHEMA).ask(late, "Who?", policy, on_event=told))
    spent = added.rows[""].tokens
    assert spent
    cache = MemoryCache()
    for _ in range(2):
        added.add(Contract(SCHEMA).ask(counted, "Who?", policy, on_event=told, cache=cache))
    for report in (told, added):
        row = report.rows[""]
        assert (row.asks, row.tokens) == (3, spent + 20)
        assert row.cost == pytest.approx((spent + 20) / 1e6)
