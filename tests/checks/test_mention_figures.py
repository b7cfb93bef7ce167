"""T7: how often an invented tool in prose is found, and how often something else is mistaken for one.

Each file has an assistant's replies with the offered tools and the names of tools that the reply makes up.
`mentions_first` and `mentions_second` were written by somebody who did not know the rules and are now used to develop
them; `mentions_others` has mostly names of programs, tables and settings, which are not tools. `mentions_held_out` is
only ever measured; no rule is changed for it.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from trueup import Contract
from trueup.checks.toolset import Toolset
from trueup.verdict.tool import Tool

pytestmark = pytest.mark.spec("T7")

DATA = Path(__file__).parent / "data"
BOUNDS = {  # the least precision and recall, and the most false alarms among replies without invented tools
    "mentions_first.jsonl": (0.99, 0.96, 0.02),
    "mentions_second.jsonl": (0.99, 0.96, 0.02),
    "mentions_others.jsonl": (0.99, 0.95, 0.02),
    "mentions_held_out.jsonl": (0.95, 0.75, 0.04),
}


def contract_of(tools: list[Any]) -> Contract:
    return Contract(
        tools=[
            {
                "name": tool["name"],
                "parameters": {"type": "object", "properties": {key: {} for key in tool.get("parameters", [])}},
            }
            for tool in ({"name": tool} if isinstance(tool, str) else tool for tool in tools)
        ]
    )


@pytest.mark.parametrize("name", BOUNDS)
def test_precision_and_recall(name: str) -> None:
    right = alarms = made_up = quiet = false = 0
    wrong = []
    for line in (DATA / name).read_text("utf-8").splitlines():
        row = json.loads(line)
        contract = contract_of(row["tools"])
        offered = Toolset(Tool(tool if isinstance(tool, str) else tool["name"]) for tool in row["tools"])
        # `getIpConfig` means the offered get_ip_config: it is not reported in prose
        wanted = {each for each in row["mentions"] if not offered.by_convention(each)}
        found = {finding.data["name"] for finding in contract.check(row["reply"]).findings if finding.code == "T011"}
        right += len(found & wanted)
        alarms += len(found)
        made_up += len(wanted)
        quiet += not row["mentions"]
        false += bool(found and not row["mentions"])
        if found != wanted:
            wrong.append((row["id"], sorted(found - wanted), sorted(wanted - found), row["reply"]))
    precision, recall, false_alarms = BOUNDS[name]
    said = "\n".join(map(str, wrong))
    assert right >= precision * alarms, said
    assert right >= recall * made_up, said
    assert false <= false_alarms * quiet, said
