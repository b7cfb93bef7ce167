"""Judging: takes a reply, a contract and a context as texts, and returns the verdict and the faults of these texts."""

import json
from time import perf_counter
from typing import Any, Literal, NamedTuple

from trueup.ask.correction import correction
from trueup.ask.words.templates import WordsError
from trueup.conform.schema import SchemaError
from trueup.contract.contract import Contract
from trueup.contract.judging.incoming import is_stream
from trueup.read.reader import read, read_document
from trueup.read.reading import Reading
from trueup.studio.judging.units import OffsetUnits
from trueup.verdict.bugs import bug_of
from trueup.verdict.verdict import Verdict

As = bool | Literal["auto"]
_AGAIN = "There is no feedback for the model: the same request is sent again."


class JudgingResult(NamedTuple):
    """The result of judging: a verdict, or the fault that prevented it."""

    verdict: Verdict | None
    faults: list[dict[str, Any]]
    took: float
    """The seconds that the check took; the contract was compiled before, with its draft."""
    read: str
    """How the reply was read: as `text`, or as a provider's response (its family)."""


class BadContext(ValueError):
    """A context that cannot be used, with its place in the text."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def read_context(text: str, state: str = "", source: str = "") -> dict[str, Any]:
    """The context in a JSON text; `state` and `source` take precedence over its own."""
    context: Any = {}
    if text.strip():
        try:
            context = json.loads(text)
        except json.JSONDecodeError as error:
            line = text.split("\n")[error.lineno - 1]
            column = OffsetUnits(line).of(error.colno - 1) + 1
            raise BadContext(f"The context is not JSON: {error.msg}.", error.lineno, column) from None
        except RecursionError:
            raise BadContext("The context is nested too deeply.") from None
    if not isinstance(context, dict):
        raise BadContext('The context must be a JSON object, such as {"state": "IDLE"}.')
    return context | {name: said for name, said in (("state", state), ("source", source)) if said}


def judge(contract: Contract[Any], reply: str, context: dict[str, Any], *, response: As = False) -> JudgingResult:
    """The verdict on a reply. A bug in an installed check, or a context that the contract cannot take, is a fault."""
    reading = read_response(reply, sure=response is True) if response else None
    source: Any = reply if reading is None else reading
    read_as = "text" if reading is None else reading.reply.provider or "response"
    try:
        started = perf_counter()
        verdict = contract.check(source, context)
        verdict.fixes  # noqa: B018 - they are made when somebody looks, and the page does
        took = perf_counter() - started
    except SchemaError as error:
        return JudgingResult(None, [fault_of(f"The schema of a tool cannot be used: {error}")], 0.0, read_as)
    except (TypeError, ValueError) as error:
        bug = bug_of(error)
        said = fault_of(str(bug)) if bug is not None else fault_of(str(error), "context")
        return JudgingResult(None, [said], 0.0, read_as)
    except (Exception, SystemExit) as error:
        bug = bug_of(error)
        if bug is None:
            raise
        return JudgingResult(None, [fault_of(str(bug))], 0.0, read_as)
    return JudgingResult(verdict, [], took, verdict.reply.provider or read_as)


def read_response(text: str, *, sure: bool) -> Reading | None:
    """A provider's response, or None if a text is not one.

    If it is `sure` to be one, JSON of an unknown shape is a finding.

    Otherwise it must have the marks of a provider: `[]` and `{"error": "none"}` are also possible replies.
    """
    reading = read_document(text)
    if reading.reply.provider or (sure and reading.findings):
        return reading
    try:
        held = json.loads(text) if sure else None
    except (ValueError, RecursionError):
        return None
    return read(held) if isinstance(held, dict | list) else None


def streamed(reply: str, response: As) -> str:
    """The text of the verdict, for a reply that is a response or the body of a stream."""
    reading = read_response(reply, sure=response is True) if response or is_stream(reply) else None
    return reply if reading is None else reading.reply.text


def told(contract: Contract[Any], verdict: Verdict, context: dict[str, Any]) -> tuple[str | None, str]:
    """The feedback for the model about a refused reply; if there is none, None and the reason."""
    if verdict.ok:
        return None, ""
    try:
        messages = correction(contract, verdict, context)
    except WordsError as error:
        return None, str(error)
    texts = [_text(message.get("content")) for message in messages if message.get("role") != "assistant"]
    return ("\n\n".join(texts), "") if texts else (None, _AGAIN)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=2)


def context_fault(error: BadContext) -> dict[str, Any]:
    """A bad context as a fault, in the same form as a contract's faults."""
    return fault_of(str(error), "context", error.line, error.column)


def fault_of(message: str, of: str = "contract", line: int = 1, column: int = 1) -> dict[str, Any]:
    """A fault of a contract or a context that lint does not report."""
    return {
        "code": "", "level": "error", "message": message, "hint": "", "path": "$", "line": line, "column": column,
        "end_line": line, "end_column": column + 1, "of": of,
    }  # fmt: skip
