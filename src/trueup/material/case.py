"""A case: one stored reply with everything that is needed to judge it again, and the facts known about it.

Readers of stores, sifts, runs and files make cases. Backtests, labels, tuning, drafts and training use them. A case that can no
longer be judged has the reason in `unjudgeable`; it is never dropped.
"""

from typing import Any, Literal

import msgspec

Reason = Literal[
    "reply_expired", "reply_not_kept", "reply_redacted", "context_not_kept", "context_redacted", "context_too_large",
    "not_a_unit", "unreadable", "no_reply", "no_model", "cut_off", "no_outcome", "no_source", "check_raised", "timed_out", "out_of_memory", "crashed",
]  # fmt: skip
"""Why a stored reply cannot be judged again."""

REASONS: dict[Reason, str] = {
    "reply_expired": "the text of the reply is past its retention",
    "reply_not_kept": "the store was configured not to keep the text of the reply",
    "reply_redacted": "something was redacted from the reply",
    "context_not_kept": "the contract needs context that was not kept",
    "context_redacted": "something was redacted from context that the contract needs",
    "context_too_large": "the contract needs context that was too large to keep",
    "not_a_unit": "the line has no reply",
    "unreadable": "the line cannot be read",
    "no_reply": "the provider gave no reply",
    "no_model": "the text is a fallback, or part of a refused reply that is stored separately",
    "cut_off": "the stream was cut off, so the rest of the reply is not known",
    "no_outcome": "no earlier outcome was recorded, and no other contract was given for comparison",
    "no_source": "the contract is grounded, and the source of the reply was not stored with it",
    "check_raised": "a check of the contract raised an error",
    "timed_out": "judging took longer than allowed",
    "out_of_memory": "judging took more memory than allowed",
    "crashed": "judging crashed the process",
}

RIGHT, WRONG = "right", "wrong"
ACCEPTED, REFUSED = "accepted", "refused"


class Label(msgspec.Struct, frozen=True):
    """One label: the judgement of a person or a downstream system about a verdict or one of its findings."""

    verdict: str
    """The id of the verdict."""
    outcome: str
    """`right` or `wrong`: whether the verdict, or the finding, is correct. You can use any other word as your own label."""
    author: str = ""
    """The person or system that gave the label; empty if not known."""
    at: float = 0.0
    """The time of the label, in seconds since 1970."""
    subject: str = ""
    """The subject: empty for the verdict as a whole, `code:V005` for findings with a code, `rule:NAME` for findings of a rule."""
    note: str = ""
    """A remark in words; empty if there is none."""
    drawn: str = ""
    """How the reply was chosen: `random` for a random sample of accepted replies, `uncertain` for the queue, else empty."""
    decided: str = ""
    """The decision that the label is about: `accepted` or `refused`; empty if not known. A contract may change after its
    decisions were labelled.
    """


class Recorded(msgspec.Struct, frozen=True):
    """The outcome that was recorded when the reply was first judged."""

    ok: bool
    codes: tuple[str, ...] = ()
    """The codes of all findings, warnings included."""
    findings: tuple[dict[str, Any], ...] = ()
    """The findings, as in `Finding.to_dict`; empty if they were not kept."""
    data: Any = None
    fingerprint: str = ""
    """The fingerprint of the contract that judged; empty if not known."""
    engine: str = ""
    """The version of trueup that judged; empty if not known."""
    fixes: tuple[dict[str, Any], ...] = ()
    """The changes that were made, as in `Fix.to_dict`; empty if there are none or they were not kept."""
    metrics: dict[str, Any] = {}
    """Numbers that checks added, by name."""
    calls: tuple[dict[str, Any], ...] | None = None
    """The calls that passed, each with its `name` and `args`; None if they were not kept."""


class Case(msgspec.Struct, frozen=True):
    """One stored reply."""

    id: str
    """The id of the verdict or the unit; labels name it."""
    reply: Any = None
    """The input of `Contract.check`; None if there is nothing to judge."""
    context: dict[str, Any] | None = None
    """The context of `Contract.check`; None if there is none."""
    unjudgeable: Reason | None = None
    """Why it cannot be judged by any contract; None if it can."""
    missing: tuple[str, ...] = ()
    """Names of context that the reply was first judged with and that is no longer available, such as `history`."""
    recorded: Recorded | None = None
    """The outcome at that time; None if it was not recorded."""
    model: str = ""
    """The model that was asked; empty if not known."""
    state: str = ""
    """The state of the conversation; empty if there is none."""
    tenant: str = ""
    """Whose request it was; empty if not known."""
    user: str = ""
    """The user; empty if not known."""
    contract: str = ""
    """The name of the contract that judged; empty if not known."""
    conversation: str = ""
    """The group for statistics: a conversation, else a request; empty if the case is independent."""
    at: float = 0.0
    """When it was judged, in seconds since 1970; 0 if not known."""
    outcome: str = ""
    """How the request ended, such as `repaired`; empty if not known."""
    attempt: int = 1
    """The number of the attempt in its request."""
    attempts: int = 1
    """How many attempts the request took."""
    latency: float = 0.0
    """How many seconds the reply took; 0 if not known."""
    tokens_in: int = 0
    """Input tokens; 0 if not known."""
    tokens_out: int = 0
    """Output tokens; 0 if not known."""
    cost: int = 0
    """The cost, in millionths of your unit of money; 0 if not known."""
    labels: tuple[Label, ...] = ()
    """The labels for it; empty if there are none."""
    place: str = ""
    """Where it is stored: a file with its offset, or the store."""
    missing_why: tuple[Reason, ...] = ()
    """The reason for each name in `missing`, in the same order; `context_not_kept` if no other is known."""

    @property
    def cluster(self) -> str:
        """The conversation, or the one that a unit of a file names in its fields; empty if the case is independent."""
        fields = None if self.conversation or self.context is None else self.context.get("input")
        named = fields.get("conversation") if isinstance(fields, dict) else None
        return self.conversation or (named if isinstance(named, str) else "")

    def was_accepted(self, label: Label, *, now: bool) -> bool:
        """Whether the decision that a `label` is about accepted the reply: as the label says, else as recorded, else as `now`
        says.

        >>> Case("1", recorded=Recorded(False)).was_accepted(Label("1", "right", decided="accepted"), now=False)
        True
        """
        if label.decided:
            return label.decided == ACCEPTED
        return now if self.recorded is None else self.recorded.ok

    @property
    def text(self) -> str:
        """The text of the reply, for people and for training; empty if there is none."""
        reply = self.reply
        if isinstance(reply, str):
            return reply
        if isinstance(reply, dict | list | bytes):
            from trueup.read.reader import read  # providers' shapes, not needed for text

            return read(reply).reply.text
        return str(getattr(getattr(reply, "reply", reply), "text", "") or "")
