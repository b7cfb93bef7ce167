"""Streaming asks: parts as they arrive, held back until judged, aborted at the first certain fault, with one plan for both drivers."""

import asyncio
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ask.clients.kinds import KINDS, aclose, closing
from tests.ask.stage import BAD, GOOD, SCHEMA, Log, StageClock
from tests.growth import assert_all_linear, each
from tests.shapes.shape import Shape
from tests.shapes.streams import SENTENCES
from trueup import Contract, Policy
from trueup.ask.gate import AnswerPart
from trueup.ask.memory import Memory
from trueup.ask.stream import AskStream, AsyncAskStream
from trueup.testing.script import Call, Cut, Erring, Fail, Reset, Say
from trueup.testing.server import ScriptedServer
from trueup.verdict.events import Aborted

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
VALUE = Contract(SCHEMA)
TEXT = Contract()
SALON = Contract(
    states={
        "SERVICE": {
            "forbid": [{"terms": ["Ana", "Pilar"], "why": "names a stylist"}],
            "fallback": "Which service would you like?",
            "hint": "Do not name a stylist yet.",
        }
    }
)
HERE = {"state": "SERVICE"}


class Streamer:
    """A callable that streams the texts of a script, one for each ask, in pieces."""

    def __init__(self, script: list[Any], piece: int = 5) -> None:
        self.script, self.piece = script, piece
        self.seen: list[Any] = []
        self.given = 0

    def __call__(self, messages: Any) -> Any:
        self.seen.append(messages)
        turn = self.script[min(len(self.seen), len(self.script)) - 1]
        for at in range(0, len(turn), self.piece):
            self.given += 1
            yield turn[at : at + self.piece]


def stream(contract: Contract, script: list[Any], policy: Policy | None = None, **options: Any) -> Any:
    """All parts, the answer, and the streamer."""
    clock = StageClock()
    model = Streamer(script, options.pop("piece", 5))
    asked = AskStream(contract, model, "Hi", policy, clock=clock, wait=clock.wait, memory=Memory(), **options)
    return list(asked), asked.answer, model


def shown(parts: list[AnswerPart]) -> str:
    """The text that a user sees at the end."""
    text = ""
    for part in parts:
        text = "" if part.kind == "restart" else text + part.text
    return text


@pytest.mark.spec("A15")
def test_a_value_is_shown_as_it_grows() -> None:
    clock = StageClock()
    asked = AskStream(VALUE, Streamer([GOOD], 6), "Hi", clock=clock, wait=clock.wait, memory=Memory())
    seen = [str(part.value) for part in asked]
    assert seen[0] == "{}"
    assert "{'name': 'Ada'}" in seen
    assert seen[-1] == "{'name': 'Ada', 'age': 36}"
    assert asked.answer.outcome == "accepted"


@pytest.mark.spec("A15", "C15")
def test_a_faulty_stream_is_aborted_and_its_tokens_are_saved() -> None:
    long = '{"age": "old", "name": "' + "x" * 4000 + '"}'
    log = Log()
    parts, answer, model = stream(VALUE, [long, GOOD], Policy(max_tokens=2000), on_event=log)
    assert answer.outcome == "repaired"
    assert model.given < 20
    (aborted,) = log.of(Aborted)
    assert aborted.reason == "V001"
    assert aborted.received < 40
    assert aborted.saved is not None
    assert aborted.saved > 1900
    assert answer.saved == aborted.saved
    assert [part.kind for part in parts].count("restart") == 1
    assert parts[-1].value == {"name": "Ada", "age": 36}


LIMITED = Contract(
    {
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": 20},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        },
        "required": ["title"],
        "additionalProperties": False,
    }
)
BOOK = {
    "name": "book",
    "parameters": {
        "type": "object",
        "properties": {"note": {"type": "string", "maxLength": 20}, "tags": {"type": "array", "maxItems": 2}},
        "required": ["note"],
        "additionalProperties": False,
    },
}
CALLING = Contract(tools=[BOOK])
FILLER = "no end of words " * 600
DOOMED: dict[str, tuple[Contract, str, str, str]] = {
    "a text": (LIMITED, '{"title": "' + FILLER, "V007 $.title", '{"title": "Toast"}'),
    "a list": (LIMITED, '{"title": "a", "tags": [' + '"b", ' * 3_000, "V007 $.tags", '{"title": "Toast"}'),
    "a name": (LIMITED, '{"title": "a", "other": "' + FILLER, "V003 $.other", '{"title": "Toast"}'),
    "a loop in a value": (VALUE, '{"name": "' + "so on and " * 4_000, "P013 $", GOOD),
    "blanks in a value": (VALUE, '{"name": "Ada",' + "\n" * 9_000, "P013 $", GOOD),
    "a loop in text": (TEXT, "Well. " + "I am sorry. " * 3_000, "P013 $", "Hello."),
    "a loop in a state": (SALON, "Well. " + "I am sorry. " * 3_000, "P013 $", "Hello."),
}


@pytest.mark.spec("A15")
@pytest.mark.parametrize("hold", ["sentence", "all"])
@pytest.mark.parametrize("name", DOOMED)
def test_a_stream_ends_as_soon_as_its_fault_is_certain(name: str, hold: Any) -> None:
    contract, reply, fault, good = DOOMED[name]
    log = Log()
    parts, answer, model = stream(
        contract,
        [reply, good],
        Policy(max_tokens=9_000),
        on_event=log,
        hold=hold,
        context=HERE if contract is SALON else None,
    )
    (aborted,) = log.of(Aborted)
    assert aborted.reason == fault.split()[0]
    assert aborted.received < len(reply) - 800
    assert answer.saved == aborted.saved
    assert answer.saved > 0
    assert answer.outcome == "repaired"
    assert [f"{found.code} {found.path}" for found in answer.attempts[0].verdict.errors] == [fault]
    told = model.seen[1][-1]["content"]
    assert f"[{fault}]" in told or f"[{fault.rpartition('.')[0]}]" in told
    assert shown(parts) == ("" if contract in (LIMITED, VALUE) else good)


@pytest.mark.spec("A5", "A15")
@pytest.mark.parametrize(("language", "words"), [("en", "repeated itself without end"), ("es", "se repite sin fin")])
def test_the_correction_says_that_the_model_repeated_itself(language: str, words: str) -> None:
    _, _, model = stream(TEXT, ["Well. " + "I am sorry. " * 3_000, "Hello."], Policy(language=language))
    told = model.seen[1][-1]["content"]
    assert told.count(words) == 1
    assert "length limit" not in told


def call_chunks(arguments: str, piece: int) -> list[Any]:
    """A call as OpenAI streams it."""

    def chunk(**delta: Any) -> dict[str, Any]:
        return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}

    begun = {"index": 0, "id": "c1", "type": "function", "function": {"name": "book", "arguments": ""}}
    rest = [
        {"index": 0, "function": {"arguments": arguments[at : at + piece]}} for at in range(0, len(arguments), piece)
    ]
    ended = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    return [chunk(tool_calls=[begun]), *(chunk(tool_calls=[one]) for one in rest), ended]


@pytest.mark.spec("A15", "T5")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ('{"note": "' + FILLER, "V007"),
        ('{"note": "a", "tags": [' + "1, " * 3_000, "V007"),
        ('{"note": "a", "other": "' + FILLER, "V003"),
        ('{"note": "a", "tags": ["' + "so on and " * 4_000, "P013"),
    ],
)
def test_the_arguments_of_a_call_end_a_stream_too(arguments: str, code: str) -> None:
    class Caller(Streamer):
        def __call__(self, messages: Any) -> Any:
            self.seen.append(messages)
            turn = arguments if len(self.seen) == 1 else '{"note": "Hi"}'
            for chunk in call_chunks(turn, 8):
                self.given += 1
                yield chunk

    clock, log = StageClock(), Log()
    model = Caller([])
    asked = AskStream(
        CALLING, model, "Hi", Policy(max_tokens=9_000), clock=clock, wait=clock.wait, memory=Memory(), on_event=log
    )
    assert list(asked) == []
    (aborted,) = log.of(Aborted)
    assert aborted.reason == code
    assert aborted.received < len(arguments) - 800
    assert asked.answer.outcome == "repaired"
    told = model.seen[1][-1]["content"]
    assert f"[{code} book $" in told
    assert '- book {"note": "<text>"' in told or "You can call these tools" in model.seen[1][0]["content"]


@pytest.mark.spec("A7", "A15")
@pytest.mark.parametrize("hold", ["sentence", "all"])
@pytest.mark.parametrize("repairs", [0, 1])
def test_a_stream_that_always_fails_is_degraded_like_an_ask(repairs: int, hold: Any) -> None:
    reply = '{"age": "old", "name": "Ada", "note": "' + "x" * 300 + '"}'
    policy = Policy(repairs=repairs)
    parts, answer, model = stream(VALUE, [reply], policy, hold=hold)
    clock = StageClock()
    asked = VALUE.ask(lambda messages: reply, "Hi", policy, memory=Memory(), clock=clock, wait=clock.wait)
    assert (answer.outcome, answer.data) == (asked.outcome, asked.data) == ("degraded", asked.data)
    assert answer.data["name"] == "Ada"
    assert all(part.kind != "text" for part in parts)
    failed = stream(VALUE, [reply], Policy(repairs=repairs, otherwise="failed"))
    assert failed[1].outcome == "failed"
    assert failed[2].given < model.given  # it contains nothing usable, so it is aborted every time


@pytest.mark.spec("C15", "C9", "C11")
@given(piece=st.integers(1, 60))
def test_a_forbidden_sentence_is_never_shown(piece: int) -> None:
    bad = "We cut hair and colour it. Your stylist would be Ana on Monday. She is great."
    good = "We cut hair. Which service would you like?"
    parts, answer, model = stream(SALON, [bad, good], context=HERE, piece=piece)
    assert "Ana" not in "".join(part.text for part in parts)
    assert answer.outcome == "regenerated"
    assert shown(parts) == good == answer.text
    assert "Do not name a stylist yet." in model.seen[1][0]["content"]
    assert model.seen[1][0]["role"] == "system"


@pytest.mark.spec("C15")
@given(piece=st.integers(1, 9))
def test_sentences_in_scripts_without_spaces_are_shown_one_by_one(piece: int) -> None:
    reply = "いらっしゃいませ。「カットですか？」カラーもできます！ご希望は"
    parts, answer, _ = stream(SALON, [reply], context=HERE, piece=piece)
    assert (shown(parts), answer.outcome) == (reply, "accepted")
    assert len([part for part in parts if part.text]) == 4
    bad = "いらっしゃいませ。担当は Ana です。ご希望は"
    parts, answer, _ = stream(SALON, [bad, reply], context=HERE, piece=piece)
    assert ("Ana" in "".join(part.text for part in parts), answer.outcome) == (False, "regenerated")


@pytest.mark.spec("C15", "C7")
@pytest.mark.parametrize("gap", [*range(570, 600), 5_000])
def test_a_word_in_a_long_reply_is_never_judged_without_its_beginning(gap: int) -> None:
    reply = f"Hello, Susana. We {'really ' * (gap // 7)}{'o' * (gap % 7)} cut hair. And colour it. Which of them?"
    parts, answer, _ = stream(SALON, [reply], context=HERE, piece=11)
    assert (shown(parts), answer.outcome) == (reply, "accepted")


@pytest.mark.spec("C10", "C11")
@given(piece=st.integers(1, 60))
def test_the_states_fallback_is_used_if_the_second_reply_is_wrong_too(piece: int) -> None:
    parts, answer, _ = stream(SALON, ["Good day. Ana is free. Bye."], context=HERE, piece=piece)
    assert answer.outcome == "fallback"
    assert shown(parts) == "Which service would you like?" == answer.text
    assert "Ana" not in "".join(part.text for part in parts)
    assert SALON.check(answer.text, HERE).ok


@given(
    text=st.text(st.sampled_from("ab .!?\n3é😀"), max_size=60),
    piece=st.integers(1, 70),
    hold=st.sampled_from(["sentence", "all"]),
)
def test_the_parts_add_up_to_the_text(text: str, piece: int, hold: Any) -> None:
    if not text.strip():
        return  # the reply is empty
    parts, answer, _ = stream(TEXT, [text], hold=hold, piece=piece)
    assert answer.ok
    assert shown(parts) == text
    assert hold == "sentence" or len(parts) == 1


@pytest.mark.spec("Q12")
def test_a_reply_that_may_be_too_short_waits_until_it_is_not() -> None:
    contract = Contract(reply=True)
    parts, answer, _ = stream(contract, ["Hi. Yo. And now a lot more. ", ""], piece=3)
    assert answer.outcome == "accepted"
    assert parts[0].text.startswith("Hi. Yo. And")
    parts, answer, model = stream(contract, ["Yes. "], piece=3)
    assert parts == []
    assert (answer.outcome, len(model.seen)) == ("failed", 4)


def test_a_value_that_is_judged_for_its_meaning_waits_for_the_verdict() -> None:
    contract = Contract(
        {"type": "object", "properties": {"say": {"type": "string"}}, "required": ["say"]},
        states={"SERVICE": {"forbid": [{"terms": ["Ana"]}]}},
    )
    parts, answer, _ = stream(contract, ['{"say": "Ana is here"}', '{"say": "Hello"}'], context=HERE)
    assert [part.value for part in parts] == [{"say": "Hello"}]
    assert answer.outcome in {"repaired", "regenerated"}


def test_a_call_that_leaks_into_the_text_is_not_shown() -> None:
    def ping(host: str) -> str:
        return host

    said = 'Let me see. <tool_call>{"name": "ping", "arguments": {"host": "a. b"}}</tool_call>'
    parts, answer, _ = stream(Contract(tools=[ping]), [said])
    assert shown(parts) == "Let me see."
    assert [call.name for call in answer.calls] == ["ping"]


def test_the_answer_is_available_only_at_the_end() -> None:
    asked = AskStream(TEXT, Streamer(["One. Two. Three. "]), "Hi", memory=Memory())
    with asked:
        next(iter(asked))
        with pytest.raises(RuntimeError, match="not been read"):
            _ = asked.answer
    assert list(asked) == []
    with pytest.raises(ValueError, match="hold must be"):
        AskStream(TEXT, Streamer([""]), "Hi", hold="never")


def test_cancelling_ends_a_stream_at_once() -> None:
    cancel = threading.Event()
    asked = AskStream(TEXT, Streamer(["One. Two. Three. "]), "Hi", cancel=cancel, memory=Memory())
    seen = []
    for part in asked:
        seen.append(part)
        cancel.set()
    assert asked.answer.reason == "cancelled"
    assert len(seen) <= 2


@each(SENTENCES)
def test_holding_back_sentences_takes_linear_time(shapes: list[Shape]) -> None:
    assert_all_linear(shapes)


def run(
    name: str, server: ScriptedServer, contract: Contract, policy: Policy | None = None
) -> tuple[list[AnswerPart], Any]:
    """Stream through a kind of client."""
    kind, clock = KINDS[name], StageClock()
    client = kind.make(server)
    policy = policy or Policy(models=("m",))
    if not kind.is_async:
        with closing(client):
            asked = AskStream(contract, client, "Hi", policy, clock=clock, wait=clock.wait, memory=Memory())
            return list(asked), asked.answer

    async def going() -> tuple[list[AnswerPart], Any]:
        try:
            asked = AsyncAskStream(contract, client, "Hi", policy, clock=clock, wait=clock.await_, memory=Memory())
            return [part async for part in asked], asked.answer
        finally:
            await aclose(client)

    return asyncio.run(going())


LINES = "First line. Second line! And a third one."
every = pytest.mark.parametrize("kind", [k for k in KINDS if k != "langchain-openai-async"])


@pytest.mark.spec("A15", "A13")
@every
def test_every_client_streams(kind: str) -> None:
    with ScriptedServer([Say(LINES, piece=7)]) as server:
        parts, answer = run(kind, server, TEXT)
        assert (answer.outcome, shown(parts)) == ("accepted", LINES)
        assert len(parts) >= 3
    with ScriptedServer([Say(GOOD, piece=4)]) as server:
        parts, answer = run(kind, server, VALUE)
        assert (answer.outcome, answer.value) == ("accepted", {"name": "Ada", "age": 36})
        assert len(parts) >= 3


@pytest.mark.spec("X36")
@every
@pytest.mark.parametrize("fault", [Cut(LINES, events=3), Cut(LINES, events=3, silent=True), Reset(LINES, events=3)])
def test_a_stream_that_breaks_off_is_taken_back_and_asked_for_again(kind: str, fault: Any) -> None:
    with ScriptedServer([fault, LINES]) as server:
        parts, answer = run(kind, server, TEXT)
    assert (answer.outcome, shown(parts)) == ("accepted", LINES)
    assert len(server.requests) == 2
    assert answer.attempts[0].failure is not None or not answer.attempts[0].verdict.ok


@every
def test_an_error_before_or_in_a_stream_is_retried(kind: str) -> None:
    with ScriptedServer([Fail(503, "down"), LINES]) as server:
        parts, answer = run(kind, server, TEXT)
    assert (answer.outcome, shown(parts), len(server.requests)) == ("accepted", LINES, 2)
    if KINDS[kind].protocol != "gemini" and not kind.startswith("langchain"):
        with ScriptedServer([Erring(LINES), LINES]) as server:
            parts, answer = run(kind, server, TEXT)
        assert (answer.outcome, shown(parts), len(server.requests)) == ("accepted", LINES, 2)


@pytest.mark.spec("A15")
@pytest.mark.parametrize("kind", [k for k in KINDS if not k.startswith("langchain")])
def test_a_tool_that_was_not_offered_ends_the_stream(kind: str) -> None:
    def ping(host: str) -> str:
        return host

    wrong = Say("", (Call("reboot_everything", {"now": "x" * 4000}, id="call_1"),), piece=20)
    right = Say("", (Call("ping", {"host": "a"}, id="call_2"),))
    with ScriptedServer([wrong, right]) as server:
        _, answer = run(kind, server, Contract(tools=[ping]))
    assert answer.outcome == "repaired"
    assert [call.name for call in answer.calls] == ["ping"]
    assert answer.attempts[0].aborted


TURNS = [GOOD, BAD, "prose. And more.", '{"name": "Ada', '{"age": "x", "name": "y"}']


@given(script=st.lists(st.sampled_from(TURNS), min_size=1, max_size=5), piece=st.integers(1, 9))
def test_sync_and_async_stream_the_same(script: list[str], piece: int) -> None:
    first, one, _ = stream(VALUE, script, piece=piece)
    clock = StageClock()
    model = Streamer(script, piece)

    async def going() -> tuple[list[AnswerPart], Any]:
        asked = AsyncAskStream(VALUE, model, "Hi", clock=clock, wait=clock.await_, memory=Memory())
        return [part async for part in asked], asked.answer

    second, two = asyncio.run(going())
    assert [(p.kind, p.text, p.attempt) for p in first] == [(p.kind, p.text, p.attempt) for p in second]
    assert one.to_dict() == two.to_dict()
