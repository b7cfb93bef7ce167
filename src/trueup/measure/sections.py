"""The sections of `trueup bench`: takes a name; returns figures as plain data. Each takes a few seconds at most.

Readers that are not installed are named and not timed. Every figure is CPU time, the best of several rounds.
"""

import os
import platform
from collections.abc import Callable, Iterable
from importlib import metadata
from typing import Any

from trueup.measure import dialogue, reading, rules, tools
from trueup.measure.peers import FAST, FLOOR, JSON_REPAIR, JSONSCHEMA, TRUEUP

Result = dict[str, Any]
ROUNDS = 6
MANY_TOOLS = 1_000
STREAMED = 8_000
PEERS = {
    "clean": ("orjson", "jsonschema-rs", "jsonschema", "json_repair"),
    "broken": ("fast_json_repair", "json_repair"),
    "streaming": ("jiter", "fast_json_repair"),
    "rules": ("asteval",),
}


def _streaming() -> Result:
    makers = {**reading.STREAMS, FAST.name: lambda: reading.stream_peer(FAST)}
    return reading.streaming(STREAMED, 3, makers, tuple(makers))


SECTIONS: dict[str, Callable[[], Result]] = {
    "clean": lambda: reading.clean(ROUNDS, (TRUEUP, FLOOR, JSONSCHEMA, JSON_REPAIR)),
    "broken": lambda: reading.broken(ROUNDS, (TRUEUP, FAST, JSON_REPAIR)),
    "streaming": _streaming,
    "tools": lambda: tools.tools(ROUNDS, MANY_TOOLS),
    "rules": lambda: rules.rules(ROUNDS),
    "state": lambda: dialogue.state(ROUNDS),
    "reply": lambda: dialogue.reply(ROUNDS),
}


def machine(sections: Iterable[str]) -> Result:
    """The environment of the figures: Python, processor, and versions of the measured packages (None if missing)."""
    found: Result = {}
    for name in ("trueup", *(name for section in sections for name in PEERS.get(section, ()))):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "processor": platform.machine(),
        "cpus": os.cpu_count(),
        "versions": found,
    }
