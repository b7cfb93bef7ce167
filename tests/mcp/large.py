"""Large inputs for every tool: long contracts and many of them, long replies in many scripts, and calls with large results."""

import json
from pathlib import Path
from typing import Any

from tests.mcp.stage import HOSTILE, PEOPLE, Place, make_place
from trueup import Contract
from trueup.store.open import open_store

FILE = "contracts/people.yaml"
LONG = "contracts/long.yaml"
SCRIPTS = (
    "The order of {0} is late. ",
    "订单{0}无法确认。",
    "заказ {0} опоздал ",
    "\U0001f680{0}\u00e9\u4e2d ",
    "kX9{0}qZ-/+ ",
)


def make_large_place(at: Path) -> Place:
    """Long contracts, many of them, and a store with long replies in many scripts, hostile ones among them."""
    place = make_place(at, replies=20)
    rules = "".join(
        f"  - {{name: rule_{n}, expr: age != {n + 200}, error: '{SCRIPTS[n % 5].format(n)}'}}\n" for n in range(400)
    )
    (place.folder / "long.yaml").write_text(
        f"{PEOPLE.replace('name: people', 'name: long', 1).partition('examples')[0]}{rules}"
    )
    for number in range(120):
        (place.folder / f"copy_{number:03}.yaml").write_text(PEOPLE)
    bad = "".join(f"  - {{name: bad_{n}, expr: nowhere_{n} > 1}}\n" for n in range(150))
    (place.folder / "bad.yaml").write_text(f"{PEOPLE.partition('examples')[0]}{bad}")
    wide = [{f"field_{at}": SCRIPTS[at % 5].format(n) for at in range(200)} for n in range(40)]
    (place.folder / "wide.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in wide))
    contract = Contract.load(place.file)
    with open_store(str(place.store)) as store:
        for number in range(150):
            body = SCRIPTS[number % 5].format(number) * 400 + HOSTILE[number % len(HOSTILE)]
            text = json.dumps({"name": body, "age": number % 40}, ensure_ascii=False)
            store.record_verdict(
                contract.check(text), contract=contract, model=f"model {number} {body[:80]}", wait=False
            )
        store.flush()
    return place


LARGE: dict[str, list[dict[str, Any]]] = {
    "check": [
        {"reply": "word " * 40_000},
        {"reply": json.dumps([{"n": n, "text": SCRIPTS[n % 5].format(n)} for n in range(3_000)], ensure_ascii=False)},
        {"reply": "{" + ", ".join(f"'k{n}': 'v{n}',," for n in range(2_000)) + "}", "contract": FILE},
        {"reply": "[" + "{'a': 1,}, " * 3_000, "text": "schema: {type: array, items: {type: object, required: [b, c]}}\n"},
        {"reply": HOSTILE[1] * 3_000, "contract": LONG},
        {"reply": "{}", "contract": "contracts/bad.yaml"},
    ],
    "explain": [{}, *({"code": code} for code in ("W013", "E001", "T005", "N012"))],
    "lint": [{}, {"contract": LONG}, {"contract": "contracts/bad.yaml"}, {"text": "x" * 100_000}, {"text": PEOPLE + "# \u4e2d\n" * 9_000}],
    "infer": [{}, {"sources": ["contracts/wide.jsonl"], "strictness": "tight"}],
    "backtest": [
        {"contract": FILE, "text": "name: people\nschema: true\n"},
        {"contract": FILE, "text": PEOPLE.replace("18", "99"), "judged_by": ""},
        {"contract": LONG, "judged_by": ""},
    ],
    "examples": [{}, {"accepted": False}, {"words": "order"}],
    "stats": [{}, {"by": "hour"}, {"by": "day"}, {"by": "rules"}],
    "edit": [],
}  # fmt: skip
