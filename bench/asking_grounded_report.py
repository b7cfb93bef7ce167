"""The benefit of grounding, as Markdown tables made from the rows of `asking_grounded`."""

from collections.abc import Iterable
from typing import Any

from asking_grounded import CHOICE, KINDS, LIMIT, WRITES

MARKS = ("<!-- grounding -->", "<!-- end of grounding -->")
Row = dict[str, Any]


def tables(result: dict[str, Any]) -> str:
    """All figures."""
    rows, about = result["rows"], result["about"]
    versions = ", ".join(
        f"{name} {about['versions'][name]}" for name in ("trueup", "xllamacpp") if name in about["versions"]
    )
    again = sum("asked again" in row for row in rows)
    part = f" the first {again} prompts, in an order that mixes tasks and languages;" if again < len(rows) else ""
    found = [row for row in rows if row["task"] not in WRITES and not row["calls"]]
    calls = [row for row in rows if row["calls"]]
    named = (("values to find", found), ("tool calls", calls))
    asked = [(name, [row for row in some if "asked again" in row]) for name, some in named]
    groups = [(name, some) for name, some in asked if some]
    lines = [
        f"{len(rows)} prompts; Python {about['python']}, {versions}. The replies as shipped, judged under the same contract with `grounded`:",
        "",
        *_judged(rows, found, calls),
        "",
        "The same by value, if the right one is known and the right tool was called:",
        "",
        *_by_kind(rows),
        "",
        f"Asked again:{part} at most {LIMIT} requests each.",
        "",
        *_asked_again(groups),
        "",
        "Results of the wrong replies that grounding caught:",
        "",
        *_repaired(groups),
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[Any]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _of(count: int, whole: int) -> str:
    return f"{count} of {whole}" if whole else "–"


def _judged(rows: list[Row], found: list[Row], calls: list[Row]) -> list[str]:
    data = [row for row in rows if not row["calls"]]
    writes = [row for row in data if row["task"] in WRITES]
    groups: list[tuple[str, list[Row], str]] = [
        ("**values to find** (" + _names(found) + ")", found, "plain"),
        *((f"– {name}", [row for row in found if row["lang"] == lang], "plain") for lang, name in LANGS),
        *((f"– `{name}`", [row for row in found if row["task"] == name], "plain") for name in _tasks(found)),
        ("**values to write** (" + _names(writes) + ")", writes, "plain"),
        *((f"– `{name}`", [row for row in writes if row["task"] == name], "plain") for name in _tasks(writes)),
        ("**tool calls**, source: the prompt", calls, "plain"),
        *((f"– {name}", [row for row in calls if row["lang"] == lang], "plain") for lang, name in LANGS),
        *((f"– `{name}`", [row for row in calls if row["task"] == name], "plain") for name in _tasks(calls)),
        ("**tool calls**, source: the whole conversation", calls, "by conversation"),
    ]
    lines = [
        "|  | valid | wrong | wrong, caught | wrong, accepted | right | right, refused |",
        "|---" * 7 + "|",
    ]
    for name, some, arm in groups:
        valid = [row["judged"][arm] for row in some if row["judged"][arm]["valid"]]
        wrong = [one for one in valid if not one["right"]]
        right = [one for one in valid if one["right"]]
        caught = sum(one["refused"] for one in wrong)
        cells = [name, _of(len(valid), len(some)), len(wrong), caught, len(wrong) - caught, len(right)]
        lines.append(_line([*cells, sum(one["refused"] for one in right)]))
    return lines


LANGS = (("en", "English"), ("es", "Spanish"))


def _tasks(rows: list[Row]) -> list[str]:
    return sorted({row["task"] for row in rows})


def _names(rows: list[Row]) -> str:
    return ", ".join(f"`{name}`" for name in _tasks(rows))


def _by_kind(rows: list[Row]) -> list[str]:
    kinds = [*dict.fromkeys(KINDS.values()), CHOICE]
    lines = ["| kind of value | wrong | caught | right | refused |", "|---" * 5 + "|"]
    for kind in kinds:
        values = [value for row in rows for value in row["judged"]["plain"].get("fields", ()) if value["kind"] == kind]
        wrong, right = [v for v in values if not v["right"]], [v for v in values if v["right"]]
        cells = [kind, len(wrong), sum(v["refused"] for v in wrong), len(right), sum(v["refused"] for v in right)]
        lines.append(_line(cells))
    return lines


def blind(again: dict[str, Any]) -> dict[str, Any]:
    """Plain `ask` again, with the next seed, until grounding accepts a reply: the outcome.

    >>> one = {"valid": True, "right": False, "refused": True, "tokens": 9}
    >>> blind({"seeds": [one, {**one, "right": True, "refused": False}, one]})
    {'valid': True, 'right': True, 'requests': 2, 'tokens': 18}
    """
    requests = tokens = 0
    for attempt in again["seeds"]:
        requests, tokens = requests + 1, tokens + attempt["tokens"]
        if attempt["valid"] and not attempt["refused"]:
            return {"valid": True, "right": attempt["right"], "requests": requests, "tokens": tokens}
    return {"valid": False, "right": False, "requests": requests, "tokens": tokens}


def unjudged(again: dict[str, Any]) -> dict[str, Any]:
    """Plain `ask` again, with the next seed, for as many requests as the loop with evidence took; the last valid reply is the outcome."""
    attempts = again["seeds"][: again["evidence"]["requests"]]
    valid = [one for one in attempts if one["valid"]]
    return {
        "valid": bool(valid),
        "right": bool(valid) and valid[-1]["right"],
        "requests": len(attempts),
        "tokens": sum(one["tokens"] for one in attempts),
    }


ENDS = {
    "plain `ask`, without grounding": lambda row: row["judged"]["plain"],
    "**grounded, asked again with the evidence**": lambda row: row["asked again"]["evidence"],
    "grounded, asked again with which value is wrong": lambda row: row["told"]["told"],
    "grounded, asked again with a new seed": lambda row: blind(row["asked again"]),
    "not grounded, a new seed as often as with evidence": lambda row: unjudged(row["asked again"]),
}


def _asked_again(groups: list[tuple[str, list[Row]]]) -> list[str]:
    lines = [
        "|  | accepted and right | accepted and wrong | no reply accepted | requests per prompt | tokens per prompt |",
        "|---" * 6 + "|",
    ]
    for name, rows in groups:
        lines.append(_line([f"*{name}, {len(rows)} prompts*", *[""] * 5]))
        for label, end in ENDS.items():
            if "which value" in label and not all("told" in row for row in rows):
                continue
            # If grounding accepts the reply, all of them end in the same way.
            ends = [end(row) if row["asked again"] else row["judged"]["plain"] for row in rows]
            right = sum(one["valid"] and one["right"] for one in ends)
            valid = sum(one["valid"] for one in ends)
            requests, tokens = (sum(one[key] for one in ends) / max(len(ends), 1) for key in ("requests", "tokens"))
            lines.append(_line([label, right, valid - right, len(ends) - valid, f"{requests:.2f}", f"{tokens:,.0f}"]))
    return lines


def _repaired(groups: list[tuple[str, list[Row]]]) -> list[str]:
    caught = [[row for row in rows if row["asked again"] and not row["judged"]["plain"]["right"]] for _, rows in groups]
    told = all("told" in row for rows in caught for row in rows)
    head = ["", "caught", "right in the end: with the evidence", *(["with which value is wrong"] if told else [])]
    head += ["with a new seed", "only with the evidence", "only with a new seed"]
    lines = [_line(head), "|---" * len(head) + "|"]
    for (name, _), rows in zip(groups, caught, strict=True):
        pairs = [(row["asked again"]["evidence"]["right"], blind(row["asked again"])["right"]) for row in rows]
        with_it, seeded = sum(a for a, _ in pairs), sum(b for _, b in pairs)
        bare = [sum(row["told"]["told"]["right"] for row in rows)] if told else []
        only = [sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)]
        lines.append(_line([name, len(rows), with_it, *bare, seeded, *only]))
    return lines
