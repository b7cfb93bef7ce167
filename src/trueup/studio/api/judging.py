"""Judging: takes a reply and a contract as texts, and returns the verdict in the form that the page draws."""

from typing import Any, Literal

import msgspec

from trueup.checks.state import States
from trueup.contract.codes import NoSuchCode, find_kinds
from trueup.contract.contract import Contract
from trueup.studio.api.answers import JudgedAnswer
from trueup.studio.endpoint import TEXTS, Endpoint, Nothing
from trueup.studio.judging.completing import complete
from trueup.studio.judging.drafts import LintedDraft, draft, faults
from trueup.studio.judging.drawing import drawn
from trueup.studio.judging.evidence import evidence_of, grounding_of
from trueup.studio.judging.examples import examples
from trueup.studio.judging.explaining import explained, listed
from trueup.studio.judging.hovering import hover
from trueup.studio.judging.judge import BadContext, context_fault, fault_of, judge, read_context, streamed, told
from trueup.studio.judging.replaying import replay, steps
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import Key
from trueup.studio.studio import Studio

MOST_REPLY = 10_000_000  # characters
MOST_IN_GATEWAY = 1_000_000  # in a gateway's process, where the gateway's requests would have to wait


class JudgeRequest(msgspec.Struct, frozen=True):
    """A reply, with the contract and context to judge it by."""

    reply: str = ""
    contract: str = ""
    """The text of a contract; empty: any JSON value."""
    kind: str = ".yaml"
    file: str = ""
    """The file that the text belongs to; without it, the text must not name other files."""
    state: str = ""
    context: str = ""
    """The context of the conversation, as the text of a JSON object."""
    source: str = ""
    """The text that a grounded contract looks values up in; it takes precedence over the `source` of the context."""
    response: bool | Literal["auto"] = False
    """Whether the reply is a provider's response (JSON or the body of a stream); `auto`: only if it looks like one."""


class Replay(JudgeRequest, frozen=True):
    """The same, at one moment while it is arriving."""

    upto: int = 0
    """How many UTF-16 units of the verdict's text have arrived."""
    steps: bool = False
    """Whether to list the units at which the value changes."""


class Instruct(msgspec.Struct, frozen=True):
    """A contract, and the form of its instructions for a model."""

    contract: str = ""
    kind: str = ".yaml"
    file: str = ""
    form: Literal["form", "json-schema", "typescript"] = "form"


class Written(msgspec.Struct, frozen=True):
    """A contract."""

    contract: str = ""
    kind: str = ".yaml"
    file: str = ""


class ContractPlace(msgspec.Struct, frozen=True):
    """A place in the text of a contract."""

    text: str = ""
    kind: str = ".yaml"
    file: str = ""
    line: int = 1
    column: int = 1
    """From 1, in UTF-16 units."""


class Code(msgspec.Struct, frozen=True):
    """A code or its name."""

    code: str


def judge_reply(studio: Studio, asked: JudgeRequest, who: Key) -> dict[str, Any]:  # noqa: ARG001 - every handler's signature
    """Judge a reply by the text of a contract."""
    drafted, contract, context, said = _given(studio, asked)
    answer: dict[str, Any] = {
        "verdict": None, "faults": said, "took": 0.0, "read": "text", "contract": _about(drafted),
    }  # fmt: skip
    if contract is None or context is None:
        return answer
    judged = judge(contract, asked.reply, context, response=asked.response)
    said += judged.faults
    answer |= {"took": judged.took, "read": judged.read}
    if judged.verdict is not None:
        message, untold = told(contract, judged.verdict, context)
        shown = drawn(judged.verdict, message, is_value=contract.schema is not None)
        evidence = evidence_of(contract, judged.verdict, context, shown["facts"])
        answer["verdict"] = {**shown, "untold": untold, "evidence": msgspec.to_builtins(evidence)}
    return answer


def replay_reply(studio: Studio, asked: Replay, who: Key) -> dict[str, Any]:  # noqa: ARG001 - as above
    """Read a reply as a stream, up to one of its characters."""
    _, contract, context, _ = _given(studio, asked)
    if contract is None or context is None:
        raise RequestRefused(
            422, "The contract or the context cannot be used.", code="faulty", hint="Judge the reply first."
        )
    text = streamed(asked.reply, asked.response)
    try:
        answer = replay(contract, text, context, asked.upto)
        return {**answer, "steps": steps(contract, text, context)} if asked.steps else answer
    except (
        TypeError,
        ValueError,
    ) as error:  # a schema of a tool, or a context, that is only refused when the reply is read
        raise RequestRefused(422, str(error), code="faulty", hint="Judge the reply first.") from None


def instruct(studio: Studio, asked: Instruct, who: Key) -> dict[str, Any]:  # noqa: ARG001 - as above
    """The instructions that a model gets for a contract before it replies."""
    drafted = draft(studio.settings, asked.contract, asked.kind, asked.file, tolerant=True)
    contract = drafted.linted.contract
    answer: dict[str, Any] = {"text": None, "faults": faults(drafted)}
    if contract is not None:
        try:
            answer["text"] = contract.instructions(asked.form)
        except ValueError as error:  # such as a language without instructions
            answer["faults"].append(fault_of(str(error)))
    return answer


def run_examples(studio: Studio, asked: Written, who: Key) -> dict[str, Any]:  # noqa: ARG001 - as above
    """Run the examples inside a contract."""
    drafted = draft(studio.settings, asked.contract, asked.kind, asked.file, tolerant=True)
    return {"faults": faults(drafted), "examples": examples(drafted)}


def complete_text(studio: Studio, asked: ContractPlace, who: Key) -> dict[str, Any]:  # noqa: ARG001 - as above
    """Completions at a place in a contract."""
    return complete(studio.settings, asked.text, asked.kind, asked.file, asked.line, asked.column)


def hover_text(studio: Studio, asked: ContractPlace, who: Key) -> dict[str, Any]:  # noqa: ARG001 - as above
    """The documentation of a word in a contract."""
    return hover(studio.settings, asked.text, asked.kind, asked.file, asked.line, asked.column)


def explain(studio: Studio, asked: Code, who: Key) -> dict[str, Any]:  # noqa: ARG001 - as above
    """The meaning of a code."""
    try:
        return explained(find_kinds(asked.code[:100])[0])
    except NoSuchCode as error:
        near = " or ".join(f"{kind.code} ({kind.name})" for kind in error.near)
        said = str(error)
        raise RequestRefused(
            404, f"{said[:1].upper()}{said[1:]}.", code="no_code", hint=f"Did you mean {near}?" if near else ""
        ) from None


def codes(studio: Studio, asked: Nothing, who: Key) -> dict[str, Any]:  # noqa: ARG001 - as above
    """All codes."""
    return {"codes": listed()}


def _given(
    studio: Studio, asked: JudgeRequest
) -> tuple[LintedDraft, Contract[Any] | None, dict[str, Any] | None, list[dict[str, Any]]]:
    """The draft of the contract, the contract and the context if they can be used, and their problems."""
    most = MOST_IN_GATEWAY if studio.settings.mount else MOST_REPLY
    for name, text in (("reply", asked.reply), ("source", asked.source)):
        if len(text) > most:
            raise RequestRefused(
                413, f"The {name} is longer than {most:,} characters.", code="too_large",
                hint="Judge large files with `trueup check` or `trueup sift`.",
            )  # fmt: skip
    drafted = draft(studio.settings, asked.contract, asked.kind, asked.file, tolerant=True)
    said = faults(drafted)
    try:
        return drafted, drafted.linted.contract, read_context(asked.context, asked.state, asked.source), said
    except BadContext as error:
        return drafted, drafted.linted.contract, None, [*said, context_fault(error)]


def _about(drafted: LintedDraft) -> dict[str, Any] | None:
    contract: Contract[Any] | None = drafted.linted.contract
    if contract is None:
        return None
    found = None if contract.meaning is None else contract.meaning.states
    states = found if isinstance(found, States) else None
    return {
        "name": contract.name,
        "fingerprint": contract.fingerprint,
        "states": [] if states is None else list(states.states),
        "start": "" if states is None else states.start or "",
        "context": _takes_context(contract),
        "grounded": grounding_of(contract) is not None,
        "tools": [tool.name for tool in contract.tools],
        "schema": contract.schema is not None,
        "examples": len(drafted.linted.examples),
    }


def _takes_context(contract: Contract[Any]) -> bool:
    """Whether the verdict may depend on more than the reply: on the conversation, or on fields of the input."""
    meaning = contract.meaning
    if contract.tools or meaning is None or meaning.listens:
        return bool(contract.tools) or meaning is not None
    names = frozenset() if meaning.rules is None else meaning.rules.names
    own = frozenset() if contract.schema is None else contract.schema.keys
    return names is None or any(name.partition(".")[0] not in own for name in names)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("POST", "/judge", "read", judge_reply, JudgeRequest, TEXTS, slow=True, gives=JudgedAnswer),
    Endpoint("POST", "/replay", "read", replay_reply, Replay, TEXTS, slow=True),
    Endpoint("POST", "/examples", "read", run_examples, Written, TEXTS, slow=True),
    Endpoint("POST", "/instructions", "read", instruct, Instruct, TEXTS, slow=True),
    Endpoint("POST", "/complete", "read", complete_text, ContractPlace, TEXTS, slow=True),
    Endpoint("POST", "/hover", "read", hover_text, ContractPlace, TEXTS, slow=True),
    Endpoint("GET", "/explain", "read", explain, Code),
    Endpoint("GET", "/codes", "read", codes),
)
