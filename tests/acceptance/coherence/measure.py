"""Recall and false alarms of the salon's contract, by state, compared with the plain regular expressions that it replaces.

    python tests/acceptance/coherence/measure.py FILE.jsonl [--misses]

A line is {"id", "state", "data", "reply", "violation"}. Only the rules of states count (D001): such a line does not say whether a
call backs a claim (D003).
"""

import argparse
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from trueup import Contract

SALON = Path(__file__).parents[3] / "examples" / "contracts" / "salon.yaml"
Row = dict[str, Any]
Judge = Callable[[Row], bool]

# The patterns of a first version in plain Python, each searched for without regard to case.
PLAIN = {
    "SERVICE_SELECTION": ["(Ana|María|Carlos|Pilar|Laura)", r"disponible[s]?\s+(a las|el|mañana)"],
    "STYLIST_SELECTION": [r"\d{1,2}:\d{2}", "(lunes|martes|miércoles|jueves|viernes|sábado)"],
    "SLOT_SELECTION": ["(confirmar|confirmada?|reservada?)", "(tu nombre|tus datos)"],
    "CUSTOMER_DATA": ["cita (confirmada|reservada)"],
}


class Score(NamedTuple):
    """How many violations there were and were found, and how many fine replies there were and were refused."""

    violations: int = 0
    found: int = 0
    fine: int = 0
    alarms: int = 0

    @property
    def recall(self) -> float:
        return self.found / self.violations if self.violations else 1.0

    @property
    def alarm_rate(self) -> float:
        return self.alarms / self.fine if self.fine else 0.0

    def with_one(self, *, violation: bool, refused: bool) -> "Score":
        if violation:
            return self._replace(violations=self.violations + 1, found=self.found + refused)
        return self._replace(fine=self.fine + 1, alarms=self.alarms + refused)


def by_contract(path: Path = SALON) -> Judge:
    """Whether the rules of a state refuse a reply."""
    contract: Contract[Any] = Contract.load(path)

    def judge(row: Row) -> bool:
        verdict = contract.check(row["reply"], {"state": row["state"], "data": row.get("data") or {}})
        return any(found.code == "D001" for found in verdict.errors)

    return judge


def by_patterns() -> Judge:
    """Whether the plain patterns find something; with a first name, CUSTOMER_DATA has none."""
    compiled = {state: [re.compile(one, re.IGNORECASE) for one in some] for state, some in PLAIN.items()}

    def judge(row: Row) -> bool:
        if row["state"] == "CUSTOMER_DATA" and (row.get("data") or {}).get("first_name"):
            return False
        return any(pattern.search(row["reply"]) for pattern in compiled.get(row["state"], ()))

    return judge


def read_rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def scores(rows: Iterable[Row], judge: Judge) -> dict[str, Score]:
    """The score of each state, and of all under `all`."""
    table: dict[str, Score] = {}
    for row in rows:
        refused = judge(row)
        for name in (row["state"], "all"):
            table[name] = table.get(name, Score()).with_one(violation=bool(row["violation"]), refused=refused)
    return table


def show(title: str, table: dict[str, Score]) -> None:
    print(f"{title}\n  {'state':20} {'recall':>16} {'false alarms':>16}")
    for name, score in sorted(table.items(), key=lambda item: item[0] == "all"):
        found = f"{score.recall:6.1%} {score.found}/{score.violations}"
        alarms = f"{score.alarm_rate:6.1%} {score.alarms}/{score.fine}"
        print(f"  {name:20} {found:>16} {alarms:>16}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--misses", action="store_true", help="print each reply that the contract judges wrongly")
    given = parser.parse_args()
    rows = read_rows(given.file)
    judge = by_contract()
    show("salon.yaml", scores(rows, judge))
    show("plain patterns", scores(rows, by_patterns()))
    for row in rows if given.misses else ():
        if judge(row) != bool(row["violation"]):
            kind = "missed" if row["violation"] else "false alarm"
            print(f"{kind} {row['id']} {row['state']}: {row['reply']!r}")


if __name__ == "__main__":
    main()
