"""Pairs of a prompt and a valid reply, as lines of a fine-tuning file. This module reads a sifted folder;
`pipeline/reporting/exporting` reads a run.

Takes a record and returns a `TrainingPair`, or a `Skipped` that says why there is none. A pair becomes a line in the format of a training
service. The formats follow the documentation of the providers: OpenAI (also Azure, Mistral, Together and Fireworks), Anthropic on
Bedrock, Gemini on Vertex AI, and `prompt` with `completion` as TRL and others read it.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trueup.batch.judging.records import line_of
from trueup.batch.pipeline.rundir.disk import decode

Row = dict[str, Any]
Message = Mapping[str, Any]
# the fields of an input that may have the prompt, unless the user names one
_PROMPTS = ("messages", "body.messages", "prompt", "question", "input")
NO_PROMPT = "no prompt in the input"
_MARKS = ("__rep", "__fan")  # the suffix of the id of a unit that was repeated or fanned out


class TrainingPair(NamedTuple):
    """The prompt, the valid reply, and a refused reply to the same prompt, if there is one."""

    unit_id: str
    messages: Sequence[Message]
    reply: str
    refused: str | None = None


class Skipped(NamedTuple):
    """A unit without a pair, and the reason."""

    unit_id: str
    reason: str


class NotWritable(ValueError):
    """A pair cannot be written in a format."""


class _Earlier(msgspec.Struct):
    raw_response: str = ""
    errors: list[Any] | None = None


class _Record(msgspec.Struct):
    unit_id: str
    raw_response: str
    data: Any
    input: Any = None
    calls: Any = None
    merged: list[_Earlier] | None = None


def pairs_in(folder: Path, *, prompt: str = "", as_written: bool = False) -> Iterator[TrainingPair | Skipped]:
    """The pairs of a sifted folder; `prompt` names the field of the input that has the prompt or the messages."""
    with (folder / "validated.jsonl").open("rb") as opened:
        for raw in opened:
            try:
                record = msgspec.convert(decode(raw), _Record)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                yield Skipped("", "its line is not a record of a sift")
            else:
                yield _pair(record, prompt, as_written=as_written)


def _pair(record: _Record, prompt: str, *, as_written: bool) -> TrainingPair | Skipped:
    unit_id = record.unit_id
    messages = _messages(record.input, prompt)
    if messages is None:
        return Skipped(unit_id, f"its input has no {prompt!r}" if prompt else NO_PROMPT)
    if record.calls:
        return Skipped(unit_id, "its reply calls tools")
    earlier = [each.raw_response for each in record.merged or () if each.errors]
    refused = next((text for text in reversed(earlier) if text), None)
    return TrainingPair(unit_id, messages, record.raw_response if as_written else written(record.data), refused)


def _messages(given: Any, prompt: str) -> Sequence[Message] | None:
    """The messages of an input: at a path, or in the fields where inputs usually have them."""
    if isinstance(given, str) and not prompt:
        return [{"role": "user", "content": given}] if given else None
    for path in (prompt,) if prompt else _PROMPTS:
        found = given
        for name in path.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
        if isinstance(found, str) and found:
            return [{"role": "user", "content": found}]
        if isinstance(found, list) and found and all(_is_message(item) for item in found):
            return found
    return None


def _is_message(item: Any) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("role"), str) and item.get("content") is not None


def written(value: Any) -> str:
    """A value as a model would write it: text unchanged, everything else as JSON.

    >>> written({"name": "Zoë", "n": [1]})
    '{"name": "Zoë", "n": [1]}'
    """
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# -- formats -------------------------------------------------------------------------------------------------------------


def _openai(pair: TrainingPair) -> Row:
    return {"messages": [*pair.messages, _assistant(pair.reply)]}


def _openai_preference(pair: TrainingPair) -> Row:
    assert pair.refused is not None
    outputs = {"preferred_output": [_assistant(pair.reply)], "non_preferred_output": [_assistant(pair.refused)]}
    return {"input": {"messages": list(pair.messages)}, **outputs}


def _anthropic(pair: TrainingPair) -> Row:
    system, turns = _apart(pair.messages)
    row: Row = {"system": system} if system else {}
    return {**row, "messages": [*turns, _assistant(pair.reply)]}


def _gemini(pair: TrainingPair) -> Row:
    system, turns = _apart(pair.messages)
    row: Row = {"systemInstruction": {"role": "system", "parts": [{"text": system}]}} if system else {}
    roles = {"assistant": "model"}
    contents = [
        {"role": roles.get(turn["role"], turn["role"]), "parts": [{"text": _text(turn)}]}
        for turn in (*turns, _assistant(pair.reply))
    ]
    return {**row, "contents": contents}


def _completion(pair: TrainingPair) -> Row:
    alone = _alone(pair.messages)
    if alone is not None:
        return {"prompt": alone, "completion": pair.reply}
    return {"prompt": list(pair.messages), "completion": [_assistant(pair.reply)]}


def _completion_preference(pair: TrainingPair) -> Row:
    assert pair.refused is not None
    alone = _alone(pair.messages)
    if alone is not None:
        return {"prompt": alone, "chosen": pair.reply, "rejected": pair.refused}
    return {"prompt": list(pair.messages), "chosen": [_assistant(pair.reply)], "rejected": [_assistant(pair.refused)]}


Format = Callable[[TrainingPair], Row]
FORMATS: dict[str, Format] = {"openai": _openai, "anthropic": _anthropic, "gemini": _gemini, "completion": _completion}
PREFERENCES: dict[str, Format] = {"openai": _openai_preference, "completion": _completion_preference}


def line_for(pair: TrainingPair, form: Format, system: str = "") -> bytes:
    """A pair as a line; `system` goes before its messages. Raises NotWritable."""
    if system:
        pair = pair._replace(messages=[{"role": "system", "content": system}, *pair.messages])
    return line_of(form(pair))


def _assistant(text: str) -> Row:
    return {"role": "assistant", "content": text}


def _alone(messages: Sequence[Message]) -> str | None:
    """The text of the only message."""
    if len(messages) == 1 and messages[0]["role"] == "user" and isinstance(messages[0]["content"], str):
        return str(messages[0]["content"])
    return None


def _apart(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    """The system message, and the turns."""
    system = [_text(message) for message in messages if message["role"] in {"system", "developer"}]
    return "\n\n".join(system), [message for message in messages if message["role"] not in {"system", "developer"}]


def _text(message: Message) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") for part in parts if isinstance(part, Mapping) and part.get("type") == "text"]
    if len(texts) != len(parts) or not all(isinstance(text, str) for text in texts):
        raise NotWritable("its messages have more than text")
    return "".join(text for text in texts if text)


# -- held-out pairs ------------------------------------------------------------------------------------------------------


def is_held_out(unit_id: str, share: float) -> bool:
    """Whether a pair is held out for validation. The id decides, so a longer file holds out the same pairs. All units made from
    one unit by repeating it or fanning it out are on the same side.

    >>> [is_held_out(f"u{n}__rep0001", 0.3) == is_held_out(f"u{n}", 0.3) for n in range(3)]
    [True, True, True]
    """
    for mark in _MARKS:
        unit_id = unit_id.partition(mark)[0]
    number = int.from_bytes(hashlib.sha256(unit_id.encode("utf-8", "surrogatepass")).digest()[:8])
    return number < share * 2**64
