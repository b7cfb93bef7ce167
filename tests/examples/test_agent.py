"""The example help desk: its model makes mistakes, gets corrections, and the ticket is opened once."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_model_corrects_itself_and_the_order_holds() -> None:
    done = subprocess.run(
        [sys.executable, "examples/agent.py"], cwd=ROOT, capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[:3] for line in lines[:2]] == [
        ["1", "check_adaptor_status", "refused"],
        ["1", "ping_gateway", "done"],
    ]
    assert lines[2] == "2  asked again: create_ticket needs check_adapter_status first"
    assert lines[-1] == "<Run ok, 3 turns, 4 calls>: ['no link']"
