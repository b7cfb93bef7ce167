"""The page of a backtest: takes a result and returns one self-contained HTML file. Text of replies is never markup."""

from typing import TYPE_CHECKING, Any

from trueup.backtesting.judging import FLIPS
from trueup.backtesting.words import KINDS, amounts, how_computed, interval, p_value, percent, reasons

if TYPE_CHECKING:
    from trueup.backtesting.result import Backtest


def page(found: "Backtest") -> str:
    """The backtest as a page."""
    from trueup.batch.reporting.html import render

    return render(page_data(found), "backtest", "trueup.backtesting")


def page_data(found: "Backtest") -> dict[str, Any]:
    """The contents of the page. Numbers are formatted here, so that every view shows the same."""
    rates = {kind: found.rate(kind) for kind in (*FLIPS, "unchanged", "refused", "refused_before")}
    tests, cost, labels = found.tests, found.cost, found.labels
    clustered = tests["clustered"]
    monthly = cost["monthly"]
    groups = {
        name: [
            {"kind": row["kind"], "key": row["key"], "count": row["count"], "of": row.get("of")} for row in rows[:200]
        ]
        for name, rows in found.groups.items()
    }
    return {
        "new": found.new,
        "old": found.old or "the recorded outcomes",
        "sources": list(found.sources),
        "conclusion": found.conclusion,
        "complete": found.complete,
        "share": percent(found.share),
        "seconds": round(found.seconds, 1),
        "total": found.total,
        "judged": found.judged,
        "unjudgeable": [{"count": n, "why": why} for n, why in reasons(found)],
        "rates": {
            kind: {"count": rate.count, "share": percent(rate.share), "interval": interval(rate)} for kind, rate in rates.items()
        },
        "kinds": KINDS,
        "p": p_value(found.p),
        "tests": [
            ["exact McNemar test", p_value(tests["mcnemar"]["p"])],
            [f"equivalent within {percent(found.margin)}", "yes" if found.equivalent else "not shown"],
            *(
                [
                    ["conversations", f"{clustered['clusters']:,}"],
                    ["design effect", f"{clustered['design_effect']:.2f}"],
                    ["p by conversation", p_value(clustered["p"])],
                ]
                if clustered
                else []
            ),
        ],
        "labels": {
            "replies": labels["replies"], "better": labels["better"], "worse": labels["worse"], "unlabelled": labels["unlabelled"],
            "words": labels["words"], "outcomes": labels["outcomes"],
        },
        "cost": {
            "per": "month" if monthly else "these replies",
            "rows": amounts(monthly or cost),
            "how": how_computed(cost),
            "known": cost["asks"] is not None,
        },
        "groups": groups,
        "flips": found.flips,
        "examples": _shown([example for kind in FLIPS for example in found.examples[kind]]),
    }  # fmt: skip


def _shown(examples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Examples in the page's order: those with a label first, and equal replies only once."""
    seen: dict[tuple[str, ...], dict[str, Any]] = {}
    for example in sorted(examples, key=lambda row: row["label"] == "unlabelled"):
        seen.setdefault(tuple(str(example[name]) for name in ("kind", "text", "reason", "state", "label")), example)
    return list(seen.values())
