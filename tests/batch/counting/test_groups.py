"""Findings counted by code, path and rule: warnings are never failures, a unit counts once, and parts add up to the whole."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.batch.sifting import run, unit
from trueup.batch.counting.groups import MOST, REST
from trueup.batch.counting.tally import UnitTally
from trueup.batch.sift import SiftProgress
from trueup.batch.siftdir.summary import levels_of
from trueup.cli.display.sift import account
from trueup.cli.progress.sift import ProgressDisplay, line_of
from trueup.contract.contract import Contract
from trueup.verdict.paths import folded

LINES = {
    "type": "object",
    "properties": {
        "lines": {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "integer"}}}},
        "total": {"type": "integer"},
    },
    "required": ["total"],
}
RULES = [
    {"name": "cheap", "expr": "total < 10", "error": "total is {total}", "level": "warning"},
    {"name": "whole", "expr": "total >= 0", "error": "total is {total}"},
]


def order(total: Any, *prices: Any) -> str:
    return json.dumps({"lines": [{"price": price} for price in prices], "total": total})


@pytest.fixture
def ran(tmp_path: Path) -> Any:
    replies = {
        "a": order(1, 1, 2),
        "b": order(50, 1),  # a warning
        "c": order(-1),  # a failure
        "d": order(1, "no", 2, "nor"),  # a field of two elements
        "e": order(70, "no"),
    }
    contract = Contract(LINES, rules=RULES, coerce="off")
    return run(tmp_path, [unit(uid, reply) for uid, reply in replies.items()], contract)


@pytest.mark.spec("B10")
def test_failures_are_counted_by_field_with_indexes_folded(ran: Any) -> None:
    row = ran.summary["by_path"]["$.lines[].price"]
    assert (row["units"], row["failed"], row["warned"], row["times"]) == (2, 2, 0, 3)
    assert (row["codes"], row["examples"]) == ({"V001": 3}, ["d", "e"])


def test_warnings_are_counted_as_warnings_everywhere(ran: Any) -> None:
    assert (ran.summary["counts"]["failed"], ran.summary["counts"]["warned"]) == (3, 1)
    rules = ran.summary["by_rule"]
    assert (rules["cheap"]["level"], rules["cheap"]["failed"], rules["cheap"]["warned"]) == ("warning", 0, 1)
    assert (rules["whole"]["level"], rules["whole"]["failed"], rules["whole"]["warned"]) == ("error", 1, 0)
    assert ran.summary["rules"] == {"whole": 1}, "a rule that only warns is not broken"
    code = ran.summary["codes"]["B005"]
    assert (code["level"], code["units"], code["failed"], code["warned"]) == ("error", 2, 1, 1)
    assert (code["examples"], code["warned_examples"]) == (["c"], ["b"])
    total = ran.summary["by_path"]["$.total"]
    assert (total["failed"], total["warned"], total["times"]) == (1, 1, 2)
    levels = levels_of(ran.summary["codes"])
    assert {level: {code: row["units"] for code, row in rows.items()} for level, rows in levels.items()} == {
        "error": {"V001": 2, "B005": 1},
        "warning": {"B005": 1},
    }
    text = account(ran.summary, ran.out)
    findings, warnings = text.split("Findings\n")[1].split("\n\n")[0], text.split("Warnings\n")[1].split("\n\n")[0]
    assert "B005 rule-broken · error  1  c" in findings
    assert "B005 rule-broken · warning  1  b" in warnings
    assert "$.lines[].price  2  V001" in text.split("Failures by field\n")[1]
    assert "cheap" not in text.split("Rules broken\n")[1]


def test_an_old_summary_has_the_level_of_its_codes() -> None:
    old = {
        "U005": {"level": "warning", "units": 3, "examples": []},
        "V001": {"level": "error", "units": 2, "examples": []},
    }
    levels = levels_of(old)
    assert [list(levels["error"]), list(levels["warning"])] == [["V001"], ["U005"]]


facts = st.tuples(
    st.sampled_from("uvw"), st.sampled_from(["V001", "B005", "D005"]), st.sampled_from(["$", "$.a[0]", "$.a[1]"]),
    st.sampled_from(["one", None]), st.sampled_from(["error", "warning"]),
)  # fmt: skip


@given(st.lists(st.lists(facts, max_size=5), max_size=6))
def test_parts_add_up_to_the_whole(units: list[list[Any]]) -> None:
    """Each list is a separate unit: parts share no unit."""
    whole, total = UnitTally(), UnitTally()
    for number, unit_facts in enumerate(units):
        part = UnitTally()
        for tally in (whole, part):
            seen: dict[int, int] = {}
            for uid, *fact in unit_facts:
                tally.note_finding(f"{uid[0]}{number}", (*fact,), seen)
        total.add(json.loads(json.dumps(part.to_dict())))
    assert total.account() == whole.account()
    for rows in (whole.account()["codes"], whole.account()["by_path"]):
        for row in rows.values():
            assert (
                max(row["failed"], row["warned"]) <= row["units"] <= row["failed"] + row["warned"] <= 2 * row["units"]
            )
            assert row["units"] <= row["times"]


def test_paths_invented_by_models_do_not_fill_the_summary() -> None:
    tally = UnitTally()
    for number in range(MOST + 500):
        tally.note_finding("u", ("V003", f"$.invented{number}", None, "error"), {})
    rows = tally.account()["by_path"]
    assert len(rows) == MOST + 1
    assert (rows[REST]["times"], rows["$.invented0"]["times"]) == (500, 1)
    assert tally.account()["codes"]["V003"]["times"] == MOST + 500
    long = UnitTally()
    long.note_finding("u" * 5000, ("V003", "$." + "x" * 5000, None, "error"), {})
    (path, row), = long.account()["by_path"].items()  # fmt: skip
    assert (len(path), len(row["examples"][0])) == (200, 200)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$", "$"),
        ("$.a.b", "$.a.b"),
        ("$.a[0][12].b", "$.a[][].b"),
        ('$["a[1]"][2]', '$["a[1]"][]'),
        ('$["quote\\"[1]"][2]', '$["quote\\"[1]"][]'),
    ],
)
def test_indexes_are_folded_and_names_are_not(path: str, expected: str) -> None:
    assert folded(path) == expected


def test_progress_names_the_codes_that_fail_units(capsys: pytest.CaptureFixture[str]) -> None:
    tally = UnitTally()
    tally.note_finding("a", ("B005", "$.n", "low", "warning"), {})
    tally.note_finding("b", ("B005", "$.n", "high", "error"), {})
    tally.note_finding("c", ("U005", "$", None, "warning"), {})
    report = SiftProgress("judging", 1, 2, 1.0, tally)
    assert line_of(report).endswith("  B005×1")
    shower = ProgressDisplay("json")
    shower(report)
    row = json.loads(capsys.readouterr().err)
    assert (row["codes"], row["warnings"]) == ({"B005": 1}, {"B005": 1, "U005": 1})
