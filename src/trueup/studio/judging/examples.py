"""Examples inside a contract: takes a draft and returns each of its examples with its result, as in `trueup lint
--run`.
"""

import json
from typing import Any

from trueup.contract.lint.examples import run_examples
from trueup.studio.judging.drafts import LintedDraft, faults
from trueup.verdict.paths import Parts, parse

_MOST = 500  # examples that are run together


def examples(drafted: LintedDraft) -> list[dict[str, Any]]:
    """The examples of a contract: the inputs of each, and the faults of those that do not give the expected result."""
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
