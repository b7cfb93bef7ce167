"""A support desk for the tests of the page: the contract of examples/support, a store with its replies, and a person's
labels. The contract had an earlier version. Every reply was judged by the version of its day; the model was asked again
after refused ones.
"""

import datetime as dt
import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from trueup.contract.lint.run import load_contract
from trueup.store.open import open_store

SUPPORT = Path(__file__).parents[2] / "examples" / "support"
FILE = "contracts/triage.yaml"
MODELS = ("small-1", "large-2")
_HOUR = 3_600_000_000


class SupportDesk(NamedTuple):
    """The folder with the contract, the store beside it, and the ids of its verdicts."""

    folder: Path
    store: str
    ids: dict[str, str]

    @property
    def file(self) -> Path:
        return self.folder / "triage.yaml"

    @property
    def text(self) -> str:
        return self.file.read_text()


def make_desk(at: Path, *, labels: int = 60, replies: int = 300) -> SupportDesk:
    """Fill a folder: `contracts/triage.yaml` and `verdicts.db`; `labels` of the refusals, and some of accepted replies."""
    folder = at / "contracts"
    folder.mkdir(parents=True)
    file = folder / "triage.yaml"
    shutil.copy(SUPPORT / "triage.yaml", file)
    now = load_contract(file)
    text = file.read_text()
    file.write_text(text.replace(">= 60", ">= 80"))
    before = load_contract(file)
    file.write_text(text)
    clock = [int(dt.datetime.now(tz=dt.UTC).timestamp() * 1e6) - (replies + 2) * _HOUR]
    store = at / "verdicts.db"
    ids: dict[str, str] = {}
    rows = [json.loads(line) for line in (SUPPORT / "replies.jsonl").read_text().splitlines()][:replies]
    with open_store(store, clock=lambda: clock[0]) as opened:
        said: list[tuple[str, bool, bool]] = []
        for number, row in enumerate(rows):
            clock[0] += _HOUR
            contract = before if number < replies // 3 else now
            verdict = contract.check(row["raw_response"])
            known: dict[str, Any] = {
                "model": MODELS[number % 2], "state": ("OPEN", "REOPENED")[number % 5 == 0], "contract": contract, "latency": 1.2, "cost": 900,
                "tenant": "acme", "request": row["unit_id"], "attempts": 1 if verdict.ok else 2, "final": verdict.ok,
            }  # fmt: skip
            ids[row["unit_id"]] = opened.record_verdict(verdict, **known)
            said.append((ids[row["unit_id"]], verdict.ok, should_pass(row["raw_response"])))
            opened.flush()
        refused = [each for each in said if not each[1]][:labels]
        accepted = [each for each in said if each[1]][: labels // 3]
        for verdict_id, ok, should in (*refused, *accepted):
            drawn = "random" if ok else "uncertain"
            opened.record_feedback(verdict_id, outcome="right" if ok == should else "wrong", user="ana", drawn=drawn)
    return SupportDesk(folder, str(store), ids)


def should_pass(reply: str) -> bool:
    """Ana's opinion: a summary of 20 characters is enough to act on, and goods may be sent back."""
    value = json.loads(reply[reply.index("{") : reply.rindex("}") + 1].replace(",}", "}"))
    return len(value["summary"]) >= 20
