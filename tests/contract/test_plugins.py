"""Custom checks: made with a decorator, offered by an installed package, used by name, explained by their page."""

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import COMMAND, clean_environment
from trueup import Contract, Finding, Verdict
from trueup.contract.files.faults import ContractError
from trueup.contract.plugins import CustomCheck, check, find_check, installed, offered
from trueup.verdict.catalogue import OWN

MODULE = '''
from pathlib import Path
from trueup.contract.plugins import check

@check("SHP001", "no-discount", "The reply promises a discount.", page=Path(__file__).parent / "SHP001.md")
def no_discount(verdict, context, most=0):
    """Discounts are given by people."""
    for word in verdict.reply.text.split():
        if word.endswith("%") and int(word[:-1]) > most:
            yield no_discount.finding(f"promises {word}", data={"promised": word}, hint="Promise no discount.")

@check("SHP002", "polite", "The reply is not polite.", level="warning")
def polite(verdict, context):
    """A reply says please.

    Shops live on it.
    """
    if "please" not in verdict.reply.text:
        yield "says no please"

def plain(verdict, context):
    return []
'''
PAGE = "# SHP001 · no-discount\n\n*finding · error*\n\n## Finds\n\nA promise that only people make.\n"
POINTS = "[trueup.checks]\nno-discount = shopchecks:no_discount\npolite = shopchecks:polite\nplain = shopchecks:plain\ngone = nowhere:gone\nleaves = leaver:check\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package that offers checks, installed as pip would: a module and its dist-info on the path."""
    folder = tmp_path / "site"
    info = folder / "shopchecks-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "shopchecks.py").write_text(MODULE, "utf-8")
    (folder / "leaver.py").write_text("raise SystemExit('no licence')\n")
    (folder / "SHP001.md").write_text(PAGE, "utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shopchecks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(folder))
    offered.cache_clear()
    yield folder
    offered.cache_clear()
    sys.modules.pop("shopchecks", None)


def test_a_check_is_used_by_name_in_a_contract_file(package: Path, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("checks: [no-discount, polite]\n")
    verdict = Contract.load(tmp_path / "c.yaml").check("You get 20% off")
    assert [(f.code, f.name, f.level, f.message) for f in verdict.findings] == [
        ("SHP001", "no-discount", "error", "promises 20%"),
        ("SHP002", "polite", "warning", "says no please"),
    ]
    assert verdict.hint == "Promise no discount."
    assert Verdict.from_dict(verdict.to_dict()) == verdict


def test_options_are_passed_by_name(package: Path, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("checks:\n  - no-discount: {most: 30}\n")
    contract = Contract.load(tmp_path / "c.yaml")
    assert contract.check("You get 20% off").ok
    assert not contract.check("You get 40% off").ok


def test_strict_makes_its_warnings_errors(package: Path) -> None:
    assert Contract(checks=["polite"]).check("Buy now").ok
    assert not Contract(checks=["polite"], strict=True).check("Buy now").ok


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no-discont", "did you mean 'no-discount'?"),
        ("gone", "cannot be imported: ModuleNotFoundError"),
        ("plain", "is no check; make it one with @check"),
        ("leaves", "cannot be imported: SystemExit: no licence"),
    ],
)
def test_a_check_that_cannot_be_had_is_a_fault(package: Path, tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "c.yaml").write_text(f"name: x\nchecks: [polite, {name}]\n")
    with pytest.raises(ContractError) as caught:
        Contract.load(tmp_path / "c.yaml")
    (found,) = caught.value.faults
    assert (found.code, found.line, found.column) == ("N019", 2, 18)
    assert says in found.message
    with pytest.raises(ValueError, match="check"):
        Contract(checks=[name])


def test_pages_are_given_or_made(package: Path) -> None:
    assert find_check("no-discount").page() == PAGE
    made = find_check("polite").page()
    assert made.startswith("# SHP002 · polite\n\n*finding · warning*\n\n## Finds\n\nA reply says please.")
    assert set(installed()) == {"no-discount", "polite"}


def test_explain_shows_their_pages(package: Path) -> None:
    def run(*args: str) -> subprocess.CompletedProcess[str]:
        env = clean_environment(PYTHONPATH=str(package))
        return subprocess.run([*COMMAND, "explain", *args], capture_output=True, text=True, env=env, check=False)

    assert run("SHP001").stdout == PAGE
    assert run("no-discount").stdout == PAGE
    listed = run().stdout
    assert "Custom checks of installed packages" in listed
    assert "SHP002  polite" in listed
    assert run("SHP003").returncode == 2


@pytest.mark.parametrize(
    "given",
    [
        ("X001", "name", "t"),
        ("shp001", "name", "t"),
        ("SHOP1", "name", "t"),
        ("SHP001", "Bad Name", "t"),
        ("V001", "x", "t"),
    ],
)
def test_a_check_has_a_code_and_a_name_of_its_own(given: tuple[str, str, str]) -> None:
    with pytest.raises(ValueError, match="a check's"):
        check(*given)


def test_a_code_belongs_to_one_check() -> None:
    check("TST010", "one", "One.")
    check("TST010", "one", "One, made again.")
    with pytest.raises(ValueError, match="taken by the check 'one'"):
        check("TST010", "two", "Two.")
    with pytest.raises(ValueError, match="level is error or warning"):
        check("TST011", "x", "X.", level="info")  # type: ignore[arg-type]
    assert OWN["TST010"].name == "one"


def custom(function: Any) -> CustomCheck:
    return check("TST020", "tried", "Tried.")(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda verdict, context: 1 / 0,
        lambda verdict, context: [5],
        lambda verdict: [],
        lambda verdict, context: 7,
        lambda verdict, context: False,
        lambda verdict, context: sys.exit(3),
        lambda verdict, context: itertools.repeat("again"),
        lambda verdict, context: [Finding("TST020", "$", 5)],  # type: ignore[arg-type]
        lambda verdict, context: [Finding("TST020", None, "no path")],  # type: ignore[arg-type]
    ],
    ids=[
        "raises", "yields a number", "takes too little", "returns a number", "says false", "leaves", "has no end",
        "a number for a message", "nothing for a path",
    ],
)  # fmt: skip
def test_a_check_that_breaks_down_is_a_finding(function: Any) -> None:
    verdict = Contract(True, checks=[custom(function)]).check("{}")
    (found,) = verdict.findings
    assert (found.code, found.data["check"], verdict.ok) == ("N022", "tried", False)
    plain = Contract(True, checks=[function]).check("{}")
    assert [found.code for found in plain.findings] == ["N022"]


def test_a_check_may_return_one_text_or_one_finding() -> None:
    for one in ("alone", Finding("TST020", "$", "alone")):
        contract = Contract(True, checks=[custom(lambda verdict, context, one=one: one)])
        assert [found.message for found in contract.check("{}").findings] == ["alone"]


def test_a_check_may_find_nothing_in_many_ways() -> None:
    empty: list[Any] = [None, [], (), iter(())]
    for nothing in empty:
        assert Contract(True, checks=[custom(lambda verdict, context, nothing=nothing: nothing)]).check("{}").ok


def test_a_check_sees_the_value_the_calls_and_the_context() -> None:
    seen: list[Any] = []
    contract = Contract(
        {"type": "object"}, checks=[custom(lambda verdict, context: seen.append((verdict.data, context)))]
    )
    contract.check('{"a": 1}', {"state": "A"})
    assert seen == [({"a": 1}, {"state": "A", "history": [], "question": "", "first": True})]


def test_a_plain_function_is_taken_in_code() -> None:
    def strange(verdict: Verdict, context: Any) -> list[Finding]:
        return [Finding("ZZZ001", "$", "strange")]

    (found,) = Contract(True, checks=[strange]).check("{}").findings
    assert found.name == "zzz001"
    (found,) = Contract(True, checks=[lambda verdict, context: ["a text"]]).check("{}").findings
    assert "make the function a check with @check" in found.message
    with pytest.raises(TypeError, match="checks is a list"):
        Contract(True, checks="polite")
    with pytest.raises(TypeError, match="a check is a name"):
        Contract(True, checks=[5])


def test_checks_add_metrics_and_see_those_before_them() -> None:
    @check("TST020", "counts", "Counts.")
    def counts(verdict: Verdict, context: Any) -> Any:
        yield {"words": len(verdict.reply.text.split())}

    @check("TST021", "dense", "Dense.")
    def dense(verdict: Verdict, context: Any) -> Any:
        yield {"density": verdict.metrics["words"] / verdict.metrics["total_text_length"]}
        if verdict.metrics["words"] < 3:
            yield "has fewer than three words"

    contract = Contract(reply=True, checks=[counts, dense])
    verdict = contract.check("One two three four")
    assert (verdict.ok, verdict.metrics["words"], round(verdict.metrics["density"], 2)) == (True, 4, 0.22)
    refused = contract.check("Extraordinary circumstances")
    assert (refused.reason, refused.metrics["words"]) == ("has fewer than three words", 2)
    assert Contract(checks=[lambda verdict, context: {"plain": 1}]).check("x").metrics == {"plain": 1}


def test_a_metric_that_cannot_be_kept_fails_its_check() -> None:
    for metrics in ({"total_text_length": 3}, {"score": float("inf")}, {"score": object()}, {"": 1}, {3: 1}):
        verdict = Contract(reply=True, checks=[lambda verdict, context, metrics=metrics: metrics]).check(
            "I understand."
        )
        assert [found.code for found in verdict.findings] == ["N022"]
        assert set(verdict.metrics.values()) <= {0, 1, 13}


def test_checks_see_what_was_found_before_them() -> None:
    seen: list[Any] = []

    def look(verdict: Verdict, context: Any) -> None:
        seen.append([found.code for found in verdict.findings])

    Contract(reply=True, checks=[look]).check("Yes")
    assert seen == [["Q006"]]
