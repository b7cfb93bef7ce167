"""Arguments that choose stored replies, turned into a `Selection`."""

from typing import Annotated

from msgspec import Meta

from trueup.material.selection import Selection
from trueup.mcp.tool import Continued
from trueup.mcp.workspace import Workspace
from trueup.studio.moments import moment
from trueup.studio.refusal import RequestRefused

Since = Annotated[str, Meta(description="From when: 90m, 24h, 7d, 2w, or a date such as 2026-01-31 (UTC).")]
Until = Annotated[str, Meta(description="Until when, in the same forms.")]
Model = Annotated[str, Meta(description="Only replies that this model gave.")]
State = Annotated[str, Meta(description="Only replies in this state of the conversation.")]
Limit = Annotated[int | None, Meta(description="The maximum number of replies to read.")]
Sources = Annotated[
    list[str],
    Meta(
        description="Names of files or folders with replies: JSON lines with `unit_id` and `raw_response`, a sift, a run. Empty: the store."
    ),
]


class ReplySelection(Continued, frozen=True, kw_only=True):
    """The filters for stored replies."""

    sources: Sources = []
    since: Since = ""
    until: Until = ""
    model: Model = ""
    state: State = ""
    limit: Limit = None


def selection_of(asked: ReplySelection, contract: str = "") -> Selection:
    """The selected replies."""
    return Selection(
        since=moment("since", asked.since), until=moment("until", asked.until), model=asked.model or None,
        state=asked.state or None, contract=contract or None,
    )  # fmt: skip


def limit_of(limit: int | None) -> int | None:
    """The maximum number of replies to read; raises a Refusal for less than one."""
    if limit is not None and limit < 1:
        raise RequestRefused(400, f"limit is {limit}.", hint="Give a number of replies, 1 or more.")
    return limit


def address_for(workspace: Workspace, sources: list[str]) -> str:
    """The URL of the store, if no other source is named."""
    from trueup.studio.working.addresses import address_of

    if sources:
        return ""
    if not workspace.has_store:
        raise RequestRefused(
            404, "No store is open, and `sources` is empty.", code="no_store",
            hint="Name files of replies in `sources`, or start the server with --store verdicts.db.",
        )  # fmt: skip
    return address_of(workspace)
