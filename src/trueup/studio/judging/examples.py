"""Examples inside a contract: a draft enters, each of its examples leaves with what came of it, as `trueup lint --run` finds."""

import json
from typing import Any

from trueup.contract.lint.examples import run_examples
from trueup.studio.judging.drafts import Draft, faults
from trueup.verdict.paths import Parts, parse

_MOST = 500  # examples that are run at once


def examples(drafted: Draft) -> list[dict[str, Any]]:
    """The examples of a contract: what to try each with, and the faults of those that do not give what they say."""
    linted = drafted.linted._replace(examples=drafted.linted.examples[:_MOST], faults=())
    against: dict[int, list[dict[str, Any]]] = {}
    for fault in faults(drafted._replace(linted=linted), tuple(run_examples(linted))):
        path: Parts = parse(fault["path"])
        against.setdefault(int(path[1]), []).append(fault)
    return [
        {**_shown(example, index), "faults": against.get(index, []), "passes": index not in against}
        for index, example in enumerate(linted.examples)
    ]


def _shown(example: dict[str, Any], index: int) -> dict[str, Any]:
    reply, context = example["reply"], dict(example.get("context") or {})
    source = context.pop("source") if isinstance(context.get("source"), str) else ""
    is_text = isinstance(reply, str)
    return {
        "name": example.get("name") or f"example {index + 1}",
        "reply": reply if is_text else json.dumps(reply, ensure_ascii=False, indent=2),
        "response": not is_text,
        "state": example.get("state", ""),
        "source": source,
        "context": json.dumps(context, ensure_ascii=False, indent=2) if context else "",
    }
