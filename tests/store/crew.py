"""Eight processes on one ledger, killed with -9 at any instant and started again, using the same keys.

Run as `python -m tests.store.crew URL FOLDER SEEDS KILLS`: for each seed a crew works, and each worker writes down the
answers it gets, until this many of them are killed; then the ledger is compared with their notes. Prints one JSON line
for each violation, and a last one with counts. This process opens no store while it forks, so that each worker starts
clean.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from tests.waiting import wait_for
from trueup.store.errors import NotHeld, QuotaExceeded
from trueup.store.open import open_store
from trueup.store.store import Store

WORKERS, KEYS, LIMIT, BUDGET = 8, 60, 40, 4000


def tenants_of(seed: int) -> list[str]:
    return [f"{seed}-a", f"{seed}-b"]


def work(url: str, seed: int, worker: int, diary: Path) -> None:
    """One worker: the same few keys as everybody else, in its own order, until it is killed."""
    chance = random.Random(f"{seed}/{worker}")
    out = os.open(diary, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(*words: str) -> None:
        os.write(out, (" ".join(words) + "\n").encode())

    store = open_store(url)  # the first to come makes the tables, and may be killed over it
    for tenant in tenants_of(seed):
        store.quota.set_limit(tenant, LIMIT, period="total")
        store.quota.set_limit(tenant, BUDGET, unit="cost", period="total")
    while True:
        tenant, key = chance.choice(tenants_of(seed)), f"k{chance.randrange(KEYS)}"
        try:
            held = store.quota.reserve(
                tenant, key, user=f"u{int(key[1:]) % 3}", model="m", estimate=chance.randrange(9)
            )
        except QuotaExceeded:
            note("full", tenant)
            continue
        if not held.fresh:
            continue
        note("held", tenant, key, held.token)
        for attempt in range(1, chance.randrange(1, 4)):
            cost = chance.randrange(6)
            store.quota.spend(held, attempt, cost)
            note("spent", tenant, key, held.token, str(attempt), str(cost))
        try:
            if chance.random() < 0.2:
                store.quota.capture(held)
                note("captured", tenant, key, held.token)
                if chance.random() < 0.4:
                    note("refunding", tenant, key, held.token)
                    store.quota.refund(held)
                    note("refunded", tenant, key, held.token)
            elif chance.random() < 0.8:
                store.quota.release(held)
                note("released", tenant, key, held.token)
        except NotHeld as refusal:
            note("lost", tenant, key, held.token, refusal.state)


def start(url: str, seed: int, worker: int, folder: Path) -> int:
    child = os.fork()
    if child:
        return child
    try:
        work(url, seed, worker, folder / f"{seed}-{worker}.txt")
    finally:
        os._exit(7)  # never reached by killing: a worker that ends on its own has failed


def run(url: str, seed: int, folder: Path, kills: int) -> tuple[list[str], int]:
    """Let a crew work and kill it one by one; what went wrong, and how many were killed at work."""
    chance = random.Random(seed)
    crew = {start(url, seed, n, folder): n for n in range(WORKERS)}
    faults = []
    for count in range(WORKERS, WORKERS + kills):
        if chance.random() < 0.6:  # during work; the others die while they start, or soon after the last one died
            more = written(seed, folder) + chance.randrange(1500)
            wait_for(lambda more=more: written(seed, folder) >= more, "the workers do nothing")  # type: ignore[misc]
        time.sleep(chance.uniform(0, 0.02))  # the instant is the point here
        victim = chance.choice(list(crew))
        faults += kill(victim)
        del crew[victim]
        crew[start(url, seed, count, folder)] = count
    wait_for(lambda: captures(seed, folder) >= 2, "the workers capture nothing")
    faults += [fault for child in crew for fault in kill(child)]
    return faults, WORKERS + kills - len(faults)


def written(seed: int, folder: Path) -> int:
    """How many bytes the workers of a seed have written down so far."""
    return sum(diary.stat().st_size for diary in folder.glob(f"{seed}-*.txt"))


def captures(seed: int, folder: Path) -> int:
    """How many captures the workers of a seed have noted so far."""
    return sum(diary.read_text().count("captured ") for diary in folder.glob(f"{seed}-*.txt"))


def kill(child: int) -> list[str]:
    """End a worker; return the problem if it had already ended on its own."""
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return [] if os.WIFSIGNALED(status) else [f"a worker ended by itself with {os.waitstatus_to_exitcode(status)}"]


def compare(store: Store, seed: int, folder: Path) -> list[str]:
    """Compare the answers that the workers got with the ledger."""
    faults = []
    sql = "SELECT tenant, key, token, state, captured FROM ledger WHERE tenant IN (?, ?)"
    rows = store.read(lambda s: s.run(sql, tenants_of(seed)))
    ledger = {(row[0], row[1]): row for row in rows}
    told: dict[tuple[str, str], set[str]] = {}
    spent: dict[str, int] = {}
    lines = [line for diary in folder.glob(f"{seed}-*.txt") for line in diary.read_text().splitlines()]
    refunding = {line.split(" ")[3] for line in lines if line.startswith("refunding ")}
    for line in lines:
        what, tenant, *rest = line.split(" ")
        if what == "captured" and rest[1] not in refunding:
            told.setdefault((tenant, rest[0]), set()).add(rest[1])
            row = ledger.get((tenant, rest[0]))
            if row is None or row[2:4] != (rest[1], "captured"):
                faults.append(f"told captured, the ledger says {row}: {line}")
        elif what in ("released", "refunded") and ledger[tenant, rest[0]][2:4] == (rest[1], "captured"):
            faults.append(f"told {what}, the ledger says captured: {line}")
        elif what == "spent":
            spent[tenant] = spent.get(tenant, 0) + int(rest[3])
    faults += [f"captured twice: {key} by {tokens}" for key, tokens in told.items() if len(tokens) > 1]
    for tenant in tenants_of(seed):
        faults += store.quota.audit(tenant)
        own = [row for row in rows if row[0] == tenant]
        stand = {(s.scope, s.unit, s.period): s for s in store.quota.standings(tenant) if s.scope == "tenant"}
        whole = stand.get(("tenant", "replies", "total"))
        sums = (sum(row[4] for row in own), sum(row[3] == "held" for row in own))
        if whole is not None and (whole.used, whole.held) != sums:
            faults.append(f"{tenant}: used and held are {whole.used}, {whole.held}; the ledger sums to {sums}")
        if sum(sums) > LIMIT:
            faults.append(f"{tenant}: {sums} over the limit of {LIMIT}")
        cost = stand.get(("tenant", "cost", "total"))
        if (cost.used if cost else 0) < spent.get(tenant, 0):
            faults.append(f"{tenant}: told {spent[tenant]} spent, the ledger says {cost}")
    return faults


def main(url: str, folder: Path, seeds: int, kills: int) -> None:
    captured = killed = 0
    for seed in range(seeds):
        here = url if url.startswith("postgresql") else f"{url}{seed // 2}.db"  # a new file now and then
        faults, dead = run(here, seed, folder, kills)
        killed += dead
        with open_store(here) as store:
            faults += compare(store, seed, folder)
            captured += sum(
                s.used
                for tenant in tenants_of(seed)
                for s in store.quota.standings(tenant)
                if (s.scope, s.unit, s.period) == ("tenant", "replies", "total")
            )
        for diary in folder.glob(f"{seed}-*.txt"):
            diary.unlink()
        for fault in faults:
            print(json.dumps({"seed": seed, "fault": fault}), flush=True)
    print(json.dumps({"seeds": seeds, "killed": killed, "captured": captured}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
