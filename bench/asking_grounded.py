"""The benefit of grounding: the replies of the study again, under the same contracts with `grounded`.

Each prompt is asked as shipped, with the schema enforced if the server can. Grounding then judges the valid reply. There are at most
three requests. Those after the first have the findings and the evidence, as `ask` sends them; or only name the wrong value; or repeat
the first request with the next seed. Correctness is counted by the known values of the prompt.

python bench/asking_grounded.py --replies PATH judges recorded replies instead: JSON lines with `messages`, `schema`, `raw_output` and,
if they are known, the right values as `expect`.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from asking_tasks import SCHEMAS, Task, has_same, is_right, messages, openai_tools
from trueup import Contract, Policy, Verdict

Ask = Callable[[Contract, Policy, dict[str, Any]], Any]
WRITES = frozenset({"opinion", "recipe", "ticket"})  # tasks whose replies the model has to write, not to find
KINDS = {
    "name": "name", "city": "name", "product": "words", "title": "words", "query": "words",
    "age": "number", "quantity": "number", "price": "number", "minutes": "number", "people": "number", "amount": "number",
    "hour": "number", "minute": "number", "date": "date", "time": "time", "email": "e-mail, phone", "phone": "e-mail, phone",
}  # fmt: skip
CHOICE = "enum, boolean"  # the kind of all other values that are known
LIMIT = 3  # requests: the first and two more
BARE = {
    "en": "{place}: This value is wrong.",
    "es": "{place}: Este valor es incorrecto.",
}  # a correction without the evidence


def contract_of(task: Task, *, grounded: bool = False) -> Contract:
    """The contract for a task; with `grounded`, each value of a reply must be in the conversation."""
    if task.calls:
        more: dict[str, Any] = {"grounded": {"calls": True}} if grounded else {}
        return Contract(tools=openai_tools(task.task), calls={"required": True}, **more)
    return Contract(schema=SCHEMAS[task.task], grounded=True) if grounded else Contract(schema=SCHEMAS[task.task])


def value_of(task: Task, verdict: Verdict) -> Any:
    """The value of a verdict, or its first call, in the shape of the expected one."""
    if not task.calls:
        return verdict.data
    return {"name": verdict.calls[0].name, "arguments": verdict.calls[0].args} if verdict.calls else None


def judged(task: Task, verdict: Verdict | None, context: dict[str, Any]) -> dict[str, Any]:
    """The facts about one reply: whether it is valid, whether it is right, and what grounding says about it.

    `verdict` comes from the contract without grounding.
    """
    if verdict is None or not verdict.ok:
        return {"valid": False, "right": False, "refused": False}
    value = value_of(task, verdict)
    found = contract_of(task, grounded=True).check(verdict.reply, context)
    wrong = [finding for finding in found.findings.errors if finding.code[0] == "E"]
    return {
        "valid": True,
        "right": is_right(task.expect, value),
        "refused": bool(wrong),
        "value": value,
        "findings": [[finding.code, finding.path, finding.message] for finding in wrong],
        "fields": fields(task.expect, value, {finding.path for finding in wrong}),
    }


def fields(expect: dict[str, Any], value: dict[str, Any], refused: set[str]) -> list[dict[str, Any]]:
    """Each value that is known, and whether the reply has it right; the arguments of a wrong tool do not count.

    >>> fields({"name": "Ana", "age": 34}, {"name": "Ana", "age": 43}, {"$.age"})
    [{'kind': 'name', 'right': True, 'refused': False}, {'kind': 'number', 'right': False, 'refused': True}]
    """
    before = "$."
    if "arguments" in expect:
        if value.get("name") != expect["name"]:
            return []
        expect, value, before = expect["arguments"], value["arguments"], "$.calls[0].args."
    return [
        {"kind": KINDS.get(name, CHOICE), "right": has_same(wanted, value.get(name)), "refused": f"{before}{name}" in refused}
        for name, wanted in expect.items()
    ]  # fmt: skip


class Asking(NamedTuple):
    """How a prompt is asked: `ask` asks once, equal requests get the next seed each time, and `begin` starts with the first seed again."""

    ask: Ask
    begin: Callable[[], None]
    policy: Policy


def source_of(task: Task) -> dict[str, Any]:
    """The context of a check. The example of a call is a turn of the conversation like any other, so there the source is named."""
    history = {"history": messages(task)}
    return {**history, "source": task.prompt} if task.calls else history


def judge(task: Task, asking: Asking) -> dict[str, Any]:
    """The reply as shipped, without grounding, and what grounding says about it; for a call, also with the whole conversation as its source."""
    answer = _first(task, asking)
    found = {"plain": _plain(task, answer, source_of(task))}
    if task.calls:
        found["by conversation"] = _plain(task, answer, {"history": messages(task)})
    return found


def ask_again(task: Task, asking: Asking) -> dict[str, Any]:
    """The outcomes of asking again after grounding refused a reply: with the evidence, and blindly; empty if it accepts the reply."""
    answers = [_first(task, asking)]
    if not _is_refused(task, answers[0]):
        return {}
    while sum(len(answer.attempts) for answer in answers) < LIMIT:
        answers.append(asking.ask(contract_of(task), asking.policy, {}))
    attempts = [one for answer in answers for one in answer.attempts][:LIMIT]
    seeds = [{**judged(task, one.verdict, source_of(task)), "tokens": _tokens(one)} for one in attempts]
    return {"seeds": seeds, "evidence": _grounded(task, asking, asking.policy)}


def ask_bare(task: Task, asking: Asking) -> dict[str, Any]:
    """The same with corrections that only say which value is wrong."""
    if not _is_refused(task, _first(task, asking)):
        return {}
    bare = {"messages": dict.fromkeys(("E001", "E002", "E003", "E004"), BARE[task.lang])}
    return {"told": _grounded(task, asking, msgspec.structs.replace(asking.policy, words=bare))}


def _first(task: Task, asking: Asking) -> Any:
    asking.begin()
    return asking.ask(contract_of(task), asking.policy, {})


def _is_refused(task: Task, answer: Any) -> bool:
    return task.task not in WRITES and bool(judged(task, answer.verdict, source_of(task))["refused"])


def _grounded(task: Task, asking: Asking, policy: Policy) -> dict[str, Any]:
    asking.begin()
    return _ended(task, asking.ask(contract_of(task, grounded=True), policy, source_of(task)))


def _plain(task: Task, answer: Any, context: dict[str, Any]) -> dict[str, Any]:
    """How asking without grounding ended, and what grounding says about the reply."""
    tokens = sum(_tokens(one) for one in answer.attempts)
    return {**judged(task, answer.verdict, context), "requests": len(answer.attempts), "tokens": tokens}


def _tokens(attempt: Any) -> int:
    return sum(attempt.usage.get(key, 0) for key in ("input_tokens", "output_tokens"))


def _ended(task: Task, answer: Any) -> dict[str, Any]:
    """How asking with evidence ended."""
    accepted = answer.verdict is not None and answer.verdict.ok and answer.outcome != "failed"
    verdicts = [one.verdict for one in answer.attempts if one.verdict is not None]
    return {
        "valid": accepted,
        "right": accepted and is_right(task.expect, value_of(task, verdicts[-1])),
        "requests": len(answer.attempts),
        "tokens": sum(_tokens(one) for one in answer.attempts),
        "replies": [one.reply.text or [[call.name, call.args] for call in one.reply.calls] for one in verdicts],
        "codes": [sorted({fault.code for fault in one.errors}) for one in verdicts],
    }


def replies(path: Path) -> str:
    """Grounding's results for recorded replies; the right values are known only for rows with `expect`."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    usable = [row for row in rows if row.get("messages") and isinstance(row.get("schema"), dict)]
    lines, values = [], []
    valid = refused = 0
    for row in usable:
        context = {"history": row["messages"]}
        if not row.get("raw_output") or not Contract(row["schema"]).check(row["raw_output"], context).ok:
            continue
        verdict = Contract(row["schema"], grounded=True).check(row["raw_output"], context)
        valid, refused = valid + 1, refused + (not verdict.ok)
        lines += [f"  {finding}" for finding in verdict.findings.errors]
        values += fields(row.get("expect") or {}, verdict.data, {finding.path for finding in verdict.findings.errors})
    wrong, right = [one for one in values if not one["right"]], [one for one in values if one["right"]]
    caught, refused_right = (sum(one["refused"] for one in some) for some in (wrong, right))
    counts = [
        f"{path.name}: {len(rows)} rows, {len(usable)} of them with prompt and schema",
        f"{valid} valid replies, {refused} of them refused",
        f"known values: {len(wrong)} wrong, {caught} of them caught; {len(right)} right, {refused_right} of them refused",
    ]
    return "\n".join([*counts, *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--replies", type=Path, required=True, help="recorded replies to judge, as JSON lines")
    print(replies(parser.parse_args().replies))


if __name__ == "__main__":
    main()
