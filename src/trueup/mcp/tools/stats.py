"""The tool `stats`: takes a period, and returns failure and retry rates with their reasons."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from msgspec import Meta

from trueup.mcp.answer import AnswerSection, Row, ToolAnswer
from trueup.mcp.fence import Fenced, name
from trueup.mcp.tool import Continued, McpTool
from trueup.mcp.tools.reply_filters import Model, Since
from trueup.mcp.workspace import Workspace
from trueup.store.stats import warnings
from trueup.studio.moments import moment
from trueup.studio.refusal import RequestRefused

_MOST_REASONS = 8


class Counting(Continued, frozen=True, kw_only=True):
    """The requests to count."""

    by: Annotated[Literal["all", "hour", "day", "rules"], Meta(description="One row for each model, for each hour or day, or for each version of a contract (rules).")] = "all"  # fmt: skip
    since: Since = ""
    model: Model = ""
    contract: Annotated[str, Meta(description="Only this contract, by its name.")] = ""


def stats(workspace: Workspace, asked: Counting) -> ToolAnswer:
    """Count how often the replies of each model failed or had to be asked for again, and why.

    `by: rules` lists the versions of each contract with their fingerprints and how many replies each refused.
    """
    since = moment("since", asked.since) or 0.0
    contract = asked.contract or None
    if asked.by == "rules":
        if asked.model:
            raise RequestRefused(400, "`by: rules` counts all models.", hint="Leave out `model`.")
        versions = workspace.store.rules(contract=contract, since=since)
        return ToolAnswer(
            {"versions": len(versions)},
            (AnswerSection("rules", [_version(each.to_dict()) for each in reversed(versions)]),),
        )
    options: dict[str, Any] = {"since": since, "model": asked.model or None, "contract": contract}
    rates = workspace.store.stats(by=asked.by, **options)
    whole = rates if asked.by == "all" else workspace.store.stats(**options)
    facts: dict[str, Any] = {"rows": len(rates), "asked": sum(rate.asked for rate in whole)}
    rows = [_rate(rate.to_dict(), is_timed=asked.by != "all") for rate in reversed(rates)]
    said: list[Row] = [{"warning": Fenced(each)} for each in warnings(whole)]
    return ToolAnswer(
        facts, tuple(each for each in (AnswerSection("rates", rows), AnswerSection("warnings", said)) if each.content)
    )


def _rate(rate: dict[str, Any], *, is_timed: bool) -> Row:
    when = {"at": _time(rate["at"])} if is_timed else {}
    return {
        **when, "model": name(rate["model"]), "asked": rate["asked"], "failed": rate["failed"], "retried": rate["retried"],
        "failure_rate": round(rate["failure_rate"], 4), "retry_rate": round(rate["retry_rate"], 4),
        "mean_attempts": round(rate["mean_attempts"], 2), "cost": rate["cost"], "reasons": _most(rate["reasons"]),
    }  # fmt: skip


def _version(change: dict[str, Any]) -> Row:
    return {
        "contract": name(change["contract"]), "fingerprint": name(change["fingerprint"]), "since": _time(change["first"]),
        "until": _time(change["last"]), "verdicts": change["verdicts"], "refused": change["refused"],
        "refusal_rate": round(change["refusal_rate"], 4), "reasons": _most(change["reasons"]),
    }  # fmt: skip


def _most(reasons: dict[str, int]) -> dict[str, int]:
    """The most frequent reasons, as codes and plain names only; the others are counted together."""
    ranked = sorted(reasons.items(), key=lambda item: -item[1])
    shown = {key: n for key, n in ranked[:_MOST_REASONS] if not isinstance(name(key), Fenced)}
    others = sum(reasons.values()) - sum(shown.values())
    return {**shown, "others": others} if others else shown


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


STATS = McpTool("stats", "Count failures", Counting, stats)
