"""GlueLLM's results: the final response, and the tools that were run before it.

Calls of the history are already answered. The reply ends with the final response, so that is its text.
"""

from typing import Any

import msgspec

from trueup.read import usage
from trueup.read.calls import MISSING
from trueup.read.draft import ReplyDraft
from trueup.read.objects import Row, record, rows, word
from trueup.read.openai_chat import fill_call
from trueup.read.reading import Reading
from trueup.verdict.reply import Turn


def read(body: Row, raw: Any) -> Reading:
    """Read the result of a run."""
    draft = ReplyDraft()
    history = rows(body.get("tool_execution_history"))
    for item in history:
        step = record(item)
        name = word(step.get("tool_name") or step.get("name") or step.get("tool"))
        given = next((step[key] for key in ("arguments", "args", "input") if key in step), MISSING)
        draft.call(name, given, word(step.get("tool_call_id") or step.get("id")), answered=True)
    if not history:
        for item in rows(body.get("tool_calls")):
            fill_call(draft, record(item))
    draft.say(body.get("final_response") or body.get("content"))
    ending = "stop" if history else None
    reply = draft.reply(None, usage.gluellm(body.get("tokens_used")), body.get("model"), "gluellm", raw)
    if ending:
        ran = len(history)
        turns = (Turn(calls=ran), Turn("tool", outputs=ran), Turn(text=reply.text))
        reply = msgspec.structs.replace(reply, finish="stop", turns=turns)
    return Reading(reply)
