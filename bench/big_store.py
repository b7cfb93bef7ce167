"""`python bench/big_store.py STORE`: makes a store with very many verdicts, for other benchmarks.

python bench/big_store.py big.db [--verdicts 1000000] [--days 30]

Each verdict is one of some thousand judged once, stored again and again with other names: seven models, three contracts in five
versions, states, 400 tenants, conversations, retries. One in five is refused, one in a hundred has a label, and a few are rare: the
model `rare-model`, the rule `never_twice`, the word `needle` in a reply.
"""

import argparse
import random
import time
from pathlib import Path
from typing import Any, NamedTuple

import root  # noqa: F401 - finds the tests' parts, as every benchmark does
from trueup import Contract
from trueup.store.errors import MICROS
from trueup.store.labels import Said
from trueup.store.open import open_store
from trueup.store.records import Note, new_id

MODELS = {"small-1": 40, "small-2": 25, "large-1": 20, "large-2": 10, "local-7b": 4, "local-70b": 1}
STATES = ("", "", "GREETING", "SLOT_SELECTION", "CONFIRMATION", "PAYMENT", "GOODBYE")
CITIES = ("Łódź", "Malmö", "Cádiz", "Nice", "Ghent", "Porto", "Bergen", "Turin")
RARE = 100_000  # one in this many verdicts is rare


class Kind(NamedTuple):
    """One judged reply."""

    verdict: Any
    contract: Contract


def contracts() -> list[Contract]:
    """The contracts, two of them in two versions."""
    found = []
    for most in (99, 120):
        schema = {
            "type": "object",
            "required": ["name", "age", "city"],
            "properties": {
                "name": {"type": "string"},
                "age": {"type": "integer", "maximum": most},
                "city": {"type": "string"},
            },
        }
        rules = [{"name": "grown_up", "expr": "age >= 18"}, {"name": "never_twice", "expr": "name != city"}]
        found.append(Contract(schema, rules=rules, name="profile"))
        found.append(
            Contract(
                {"type": "object", "required": ["total"], "properties": {"total": {"type": "number", "minimum": most}}},
                name="order",
            )
        )
    return [*found, Contract(reply=True, name="chat")]


def kinds(dice: random.Random, many: int) -> list[Kind]:
    """Judged replies: four in five are accepted."""
    known = contracts()
    made: list[Kind] = []
    for number in range(many):
        rules = dice.choice(known)
        name, city = f"Person {number}", dice.choice(CITIES)
        text = {
            "profile": f'{{"name": "{name}", "age": {dice.randint(20, 90)}, "city": "{city}"}}',
            "order": f'{{"total": {dice.randint(130, 900)}}}',
            "chat": f"Of course, {name}. Your table in {city} is booked; we look forward to seeing you at {dice.randint(5, 9)}.",
        }[rules.name]
        if dice.random() < 0.2:
            text = dice.choice(
                (text[: len(text) // 2], text.replace("age", "years").replace("total", "sum"), f'```json\n{{"age": "{number}"}}\n```',
                 '{"name": "child", "age": 7, "city": "Nice"}', "Sorry, I cannot do that.", "")
            )  # fmt: skip
        made.append(Kind(rules.check(text), rules))
    return made


class Clock:
    """The time of a store that is being filled."""

    def __init__(self, days: float) -> None:
        self.now = float(time.time_ns() // 1000 - round(days * 86_400 * MICROS))

    def __call__(self) -> int:
        return int(self.now)


def fill(url: str, verdicts: int, days: float) -> None:
    """Fill a store, oldest verdict first."""
    dice = random.Random(9)
    some = kinds(dice, 4_000)
    profile = contracts()[0]
    twice = Kind(profile.check('{"name": "Nice", "age": 40, "city": "Nice"}'), profile)
    needle = Kind(profile.check('{"name": "Ada", "age": 36, "city": "a needle in a haystack"}'), profile)
    names, weights = list(MODELS), list(MODELS.values())
    clock = Clock(days)
    step = days * 86_400 * MICROS / verdicts
    labels: list[Said] = []
    with open_store(url, clock=clock) as store:
        for number in range(verdicts):
            kind = dice.choice(some)
            model = dice.choices(names, weights)[0]
            rare = number % RARE
            if rare == RARE // 3:
                model = "rare-model"
            elif rare == RARE // 4:
                kind = twice
            elif rare == RARE // 5:
                kind = needle
            attempts = 2 if dice.random() < 0.05 else 1
            note = Note(
                new_id(), kind.verdict, f"request-{number // attempts}", attempts, f"tenant-{int(dice.paretovariate(0.5)) % 400}", model=model,
                contract=kind.contract.name, state=dice.choice(STATES) if kind.contract.name == "chat" else "",
                outcome="repaired" if kind.verdict.ok and attempts > 1 else "", attempts=attempts, latency=dice.expovariate(1.0),
                cost=dice.randint(50, 900), fingerprint=kind.contract.fingerprint, context={}, conversation=f"c-{number // 4}", rules=kind.contract,
            )  # fmt: skip
            clock.now += step
            while store.queued > 5_000:
                time.sleep(0.002)
            store.note(note)
            if dice.random() < 0.01:
                labels.append(
                    Said(note.id, user=dice.choice(("ada", "bob")), outcome=dice.choice(("right",) * 4 + ("wrong",)))
                )
            if len(labels) == 1_000:
                store.record_all(labels)
                labels.clear()
        store.record_all(labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", help="a path that is not there yet, or the address of an empty PostgreSQL")
    parser.add_argument("--verdicts", type=int, default=1_000_000)
    parser.add_argument("--days", type=float, default=30.0)
    options = parser.parse_args()
    if "://" not in options.store and Path(options.store).exists():
        parser.error(f"{options.store} is there already")
    began = time.perf_counter()
    fill(options.store, options.verdicts, options.days)
    print(f"{options.verdicts:,} verdicts in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
