"""`make study`: one small real model, 100 prompts, and the results of its replies with and without trueup and its peers.

python bench/asking.py [--minutes 60] [--prompts 100] [--markdown PAGE] [--json OUT]

Every library asks the same model through the same address, with the same worked example before each prompt, the same temperature, seed and
limit of tokens; each may ask again twice. Grounding then judges the replies as shipped, and those that it refuses are asked for again.
"""

import argparse
import json
import platform
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from openai import OpenAI
from pydantic import ValidationError

import asking_grounded
import asking_grounded_report
import asking_peers
import asking_report
from asking_grounded import LIMIT, Asking, contract_of, value_of
from asking_tasks import SCHEMAS, TOOLS, Task, is_right, messages, tasks
from trueup import Contract
from trueup.ask.clients.local import LocalError, LocalModel
from trueup.ask.policy import Policy
from trueup.testing.script import Fail, Raw
from trueup.testing.server import ScriptedServer
from trueup.testing.wire import Request

MAX_TOKENS, TEMPERATURE, SEED = 100, 0.8, 7
GROUNDED = ("judged", "asked again", "told")  # the arms of grounding, the last two in separate rounds
HELD = ("json_schema", "json_object", "text")
SETTINGS = {"temperature": TEMPERATURE, "max_tokens": MAX_TOKENS}


class Outcome(NamedTuple):
    """The outcome of one way of asking for one prompt."""

    valid: bool
    right: bool
    again: int = 0  # requests after the first
    tokens: int = 0
    seconds: float = 0.0
    why: str = ""


class Front:
    """The address that every arm asks: it forwards to the local model, remembers each request and counts its tokens.

    Randomness is fixed by a seed; a repeated request gets the next seed.
    """

    def __init__(self, model: LocalModel) -> None:
        self._model = model
        self._memory: dict[bytes, bytes] = {}
        self.begin()

    def begin(self) -> None:
        """Start counting again, for the next prompt or the next arm."""
        self.requests = self.tokens = 0
        self._asked: dict[bytes, int] = {}

    def answer(self, request: Request) -> Raw | Fail:
        body = {key: value for key, value in request.fields.items() if key not in {"stream", "user", "store"}}
        key = json.dumps(body, sort_keys=True).encode()
        self._asked[key] = self._asked.get(key, 0) + 1
        body["seed"] = SEED + self._asked[key]
        key += b" %d" % body["seed"]
        if key not in self._memory:
            try:
                reply = self._model.complete(**{**body, "max_tokens": MAX_TOKENS})
            except LocalError as error:
                return Fail(error.status_code, str(error))
            self._memory[key] = json.dumps(reply).encode()
        reply = json.loads(self._memory[key])
        self.requests += 1
        self.tokens += reply["usage"]["total_tokens"]
        return Raw(self._memory[key])


def bare(task: Task, verdict: Any) -> tuple[bool, Any]:
    """The first reply without trueup: `json.loads` and pydantic, for a call on its arguments."""
    try:
        if not task.calls:
            return True, SCHEMAS[task.task].model_validate(json.loads(verdict.reply.text)).model_dump()
        for call in verdict.reply.raw.choices[0].message.tool_calls or ():
            made = TOOLS[task.task][call.function.name].model_validate(json.loads(call.function.arguments))
            return True, {"name": call.function.name, "arguments": made.model_dump()}
    except (json.JSONDecodeError, ValidationError, KeyError):
        pass
    return False, None


def policy_of(task: Task, **more: Any) -> Policy:
    """How trueup asks for a task: the same limits for every arm."""
    given: dict[str, Any] = {
        "modes": ("text",), "models": (asking_peers.NAME,), "temperature": TEMPERATURE, "repairs": LIMIT - 1,
        "regenerations": LIMIT - 1, "attempts": LIMIT, "retries": 2, "backoff": 0.001, "max_tokens": MAX_TOKENS, "most_tokens": MAX_TOKENS,
        "language": task.lang, "deadline": None, "timeout": None, "last_tools": None, "otherwise": "failed", **more,
    }  # fmt: skip
    return Policy(**given)


def trueup_arm(client: OpenAI, repair: str = "whole", **more: Any) -> Callable[[Task], dict[str, Outcome]]:
    """The loop; its first reply also shows the outcome without it."""

    shown = more.pop("shown", True)

    def run(task: Task) -> dict[str, Outcome]:
        answer = contract_of(task).ask(client, messages(task, shown=shown), policy_of(task, repair=repair, **more))
        first, last = answer.attempts[0], answer.attempts[-1]
        if first.verdict is None:  # the server refused the request
            none = Outcome(valid=False, right=False, why=str(first.failure))
            return {"bare": none, "recovery": none, "loop": none}
        valid, value = bare(task, first.verdict)
        cost = sum(first.usage.get(key, 0) for key in ("input_tokens", "output_tokens"))
        found = value_of(task, first.verdict)
        ok = answer.verdict is not None and answer.verdict.ok and answer.outcome != "failed"
        codes = (
            ",".join(sorted({f.code for f in last.verdict.findings.errors}))
            if last.verdict is not None
            else str(last.failure)
        )
        final = value_of(task, answer.verdict) if ok else None
        return {
            "bare": Outcome(valid, is_right(task.expect, value), 0, cost, first.seconds),
            "recovery": Outcome(
                first.verdict.ok, first.verdict.ok and is_right(task.expect, found), 0, cost, first.seconds
            ),
            "loop": Outcome(ok, ok and is_right(task.expect, final), len(answer.attempts) - 1, why="" if ok else codes),
        }

    return run


def grounded_arm(client: OpenAI, front: Front, measure: Callable[[Task, Asking], Any]) -> Callable[[Task], Any]:
    """The replies as shipped under grounding, and what asking again makes of those that it refuses."""

    def run(task: Task) -> Any:
        def ask(contract: Contract, policy: Policy, context: dict[str, Any]) -> Any:
            return contract.ask(client, messages(task), policy, context=context)

        return measure(task, Asking(ask, front.begin, policy_of(task, modes=HELD)))

    return run


def measured(front: Front, run: Callable[[Task], Any], task: Task) -> tuple[Any, int, int, float]:
    front.begin()
    started = time.monotonic()
    made = run(task)
    return made, front.requests, front.tokens, time.monotonic() - started


def study(prompts: int, minutes: float, keep: Path | None, only: str) -> dict[str, Any]:
    """Run every arm on every prompt, or on as many as the time allows; resume an interrupted run."""
    result: dict[str, Any] = {"about": {"minutes": 0.0}, "rows": []}
    if keep and keep.exists():
        result = json.loads(keep.read_text("utf-8"))
    before, kept = result["about"]["minutes"], {row["id"]: row for row in result["rows"]}
    result["about"] |= {"python": platform.python_version(), "versions": asking_peers.versions()}
    started = time.process_time()
    with LocalModel(threads=1) as model:
        front = Front(model)
        with (
            ScriptedServer(front.answer) as server,
            OpenAI(base_url=server.url, api_key="none", max_retries=0) as client,
        ):
            arms: dict[str, Callable[[Task], Any]] = {
                "whole": trueup_arm(client),
                "fields": trueup_arm(client, "fields"),
                "held": trueup_arm(client, modes=HELD),
                "unshown": trueup_arm(client, shown=False, attempts=1),
                "unshown held": trueup_arm(client, shown=False, attempts=1, modes=("json_schema",)),
                **asking_peers.arms(server.url, SETTINGS),
            }
            arms["judged"] = grounded_arm(client, front, asking_grounded.judge)
            later = {
                "asked again": grounded_arm(client, front, asking_grounded.ask_again),
                "told": grounded_arm(client, front, asking_grounded.ask_bare),
            }
            rounds = (arms, *({name: run} for name, run in later.items()))
            for some, task in product(rounds, tasks()[:prompts]):
                if result["about"]["minutes"] > minutes:
                    break
                chosen = {name: run for name, run in some.items() if not only or name in only.split(",")}
                kept[task.id] = ask_all(front, chosen, task, kept.get(task.id, {}))
                result["rows"] = list(kept.values())
                result["about"]["minutes"] = before + (time.process_time() - started) / 60
                if keep:
                    keep.write_text(json.dumps(result, ensure_ascii=False), "utf-8")
    return result


def ask_all(front: Front, arms: dict[str, Callable[[Task], Any]], task: Task, before: dict[str, Any]) -> dict[str, Any]:
    """The outcome of every arm for one prompt; arms that were already asked are not asked again."""
    row: dict[str, Any] = {"id": task.id, "task": task.task, "lang": task.lang, "calls": task.calls, **before}
    for name, run in arms.items():
        if name in before:
            continue
        if task.calls and (name in {"instructor held", "pydantic-ai held"} or "unshown" in name):
            continue
        if "unshown" in name and task.id[-1] not in "12":  # two of five are enough
            continue
        made, requests, tokens, seconds = measured(front, run, task)
        if name in GROUNDED:
            row[name] = made
            continue
        if isinstance(made, dict):
            if name != "fields":
                row |= {f"{name} {key}": made[key]._asdict() for key in ("bare", "recovery")}
            outcome = made["loop"]._replace(tokens=tokens, seconds=seconds)
        else:
            value, why = made
            outcome = Outcome(value is not None, is_right(task.expect, value), requests - 1, tokens, seconds, why)
        row[name] = outcome._asdict()
    print(
        task.id,
        {key: value["valid"] for key, value in row.items() if isinstance(value, dict) and "valid" in value},
        flush=True,
    )
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="stop after the prompt at which this much processor time is spent"
    )
    parser.add_argument("--prompts", type=int, default=100)
    parser.add_argument(
        "--only",
        default="",
        help="some of whole, fields, held, judged, asked again, told, unshown, unshown held, instructor, pydantic-ai, instructor held, pydantic-ai held",
    )
    parser.add_argument("--json", type=Path, help="keep every outcome here, and resume from the kept ones")
    parser.add_argument("--from-json", type=Path, help="write the tables of an earlier run")
    parser.add_argument("--markdown", type=Path, help="write the tables into this page, between its two marks")
    options = parser.parse_args()
    result = (
        json.loads(options.from_json.read_text("utf-8"))
        if options.from_json
        else study(options.prompts, options.minutes, options.json, options.only)
    )
    for text, marks in sections(result):
        if options.markdown:
            asking_report.put(options.markdown, text, marks)
        print(text)


def sections(result: dict[str, Any]) -> Iterator[tuple[str, tuple[str, str]]]:
    """The tables of the ways that were run, each with its marks on the page."""
    rows = result["rows"]
    if all("pydantic-ai" in row for row in rows):
        yield asking_report.tables(result), asking_report.MARKS
    if all("judged" in row for row in rows):
        yield asking_grounded_report.tables(result), asking_grounded_report.MARKS


if __name__ == "__main__":
    main()
