"""A pipeline for the demo: writes a pipeline into a folder. It triages recorded tickets with a slow model.

A unit is asked about once. Most failed units have a better reply for a retry, and some never get one, as in real life.
"""

import json
from pathlib import Path
from typing import Any

from trueup.contract.contract import Contract
from trueup.studio.demo.material import example
from trueup.studio.demo.scenes import recorded

_UNITS = 144
_HOPELESS = 9  # one in this many refused units never has a better reply
_SECONDS = 1.5  # seconds of a call; eight run at the same time
_MODEL = "maple-mini"
_ASKED = (
    "Triage this ticket of a web shop: {{ ticket }}\nReply with its category, its urgency from 1 to 5, and a summary.\n"
)
_SCHEMA = {
    "type": "object",
    "properties": {
        "category": {"type": "string", "enum": ["billing", "delivery", "account", "other"]},
        "urgency": {"type": "integer", "minimum": 1, "maximum": 5},
        "summary": {"type": "string"},
    },
    "required": ["category", "urgency", "summary"],
}
_CONFIG: dict[str, Any] = {
    "pipeline": {
        "name": "triage",
        "steps": [
            {"name": "triage", "description": "The subject of a ticket."},
            {
                "name": "route",
                "scope": "expression",
                "description": "The team that gets it, and whether it is urgent enough to wake somebody.",
                "expressions": {"team": "category + '-team'", "wakes": "urgency >= 5"},
            },
        ],
    },
    "api": {
        "provider": "replay",
        "model": _MODEL,
        "replay": {"source": "replies.jsonl", "delay_seconds": _SECONDS},
        "retry": {"max_attempts": 1, "initial_delay_seconds": 0},
        "prices": {"*": {"input": 0.15, "output": 0.6}},
    },
    "processing": {"strategy": "direct", "chunk_size": 24, "items": {"source": "items.json", "name_field": "id"}},
    "prompts": {"templates": {"triage": "triage.jinja2"}},
    "schemas": {"files": {"triage": "triage.json"}},
    "validation": {
        "triage": {
            "required": ["category", "urgency", "summary"],
            "rules": [
                {
                    "name": "summary_says_enough",
                    "expr": "len(summary) >= 60",
                    "error": "The summary is too short to act on",
                }
            ],
        }
    },
}


def write_pipeline(folder: Path) -> None:
    """Write the pipeline into a new folder."""
    rows = list(recorded("support/replies.jsonl"))[:_UNITS]
    files = {
        "config.yaml": json.dumps(_CONFIG, indent=2),
        "items.json": json.dumps([{"id": row["unit_id"], "ticket": f"No. {row['input']['ticket']}"} for row in rows]),
        "replies.jsonl": "".join(f"{json.dumps(reply)}\n" for reply in _replies(rows)),
        "templates/triage.jinja2": _ASKED,
        "schemas/triage.json": json.dumps(_SCHEMA, indent=2),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def _replies(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The recorded reply of each unit, and a passing reply after most refused ones."""
    contract = Contract.load(example("support/triage.yaml"))
    passed = [row["raw_response"] for row in rows if contract.check(row["raw_response"]).ok]
    found = []
    refused = 0
    for row in rows:
        texts = [row["raw_response"]]
        if not contract.check(texts[0]).ok:
            refused += 1
            texts += [passed[refused % len(passed)]] if refused % _HOPELESS else []
        found += [
            {
                "step": "triage", "unit_id": row["unit_id"], "raw_response": text, "model": _MODEL,
                "usage": {"input_tokens": 60, "output_tokens": 4 + len(text) // 4},
            }
            for text in texts
        ]  # fmt: skip
    return found
