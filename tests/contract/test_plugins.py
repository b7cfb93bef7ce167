"""Custom checks: made with a decorator, offered by an installed package, used by name, explained by their page."""

import asyncio
import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pydantic
import pytest

from tests.cli.running import COMMAND, clean_environment
from trueup import Contract, Finding, Verdict
from trueup.contract.files.faults import ContractError
from trueup.contract.plugins import CustomCheck, check, find_check, installed, offered
from trueup.verdict.bugs import bug_of
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
    """A package that offers checks, installed like pip does: a module and its dist-info on the path."""
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
        ("plain", "is not a check; decorate it with @check"),
        ("leaves", "cannot be imported: SystemExit: no licence"),
    ],
)
def test_a_check_that_is_not_available_is_a_fault(package: Path, tmp_path: Path, name: str, says: str) -> None:
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
def test_a_check_has_its_own_code_and_name(given: tuple[str, str, str]) -> None:
    with pytest.raises(ValueError, match="a check's"):
        check(*given)


def test_a_code_belongs_to_one_check() -> None:
    check("TST010", "one", "One.")
    check("TST010", "one", "One, made again.")
    with pytest.raises(ValueError, match="taken by the check 'one'"):
        check("TST010", "two", "Two.")
    with pytest.raises(ValueError, match="level must be error or warning"):
        check("TST011", "x", "X.", level="info")  # type: ignore[arg-type]
    assert OWN["TST010"].name == "one"


def custom(function: Any) -> CustomCheck:
    return check("TST020", "tried", "Tried.")(function)


def stops(verdict: Verdict, context: Any) -> Any:
    raise StopIteration


BUGS: dict[str, tuple[Any, type[BaseException]]] = {
    "raises": (lambda verdict, context: 1 / 0, ZeroDivisionError),
    "raises late": (lambda verdict, context: (1 / n for n in (1, 0)), ZeroDivisionError),
    "yields a number": (lambda verdict, context: [5], TypeError),
    "takes too little": (lambda verdict: [], TypeError),
    "returns a number": (lambda verdict, context: 7, TypeError),
    "returns zero": (lambda verdict, context: 0, TypeError),
    "says false": (lambda verdict, context: False, TypeError),
    "leaves": (lambda verdict, context: sys.exit(3), SystemExit),
    "has no end": (lambda verdict, context: itertools.repeat("again"), TypeError),
    "a number for a message": (lambda verdict, context: [Finding("TST020", "$", 5)], TypeError),  # type: ignore[arg-type]
    "nothing for a path": (lambda verdict, context: [Finding("TST020", None, "no path")], TypeError),  # type: ignore[arg-type]
    "reads what is not there": (lambda verdict, context: context["customer"], KeyError),
    "reaches nobody": (lambda verdict, context: [][1], IndexError),
}


@pytest.mark.parametrize(("function", "kind"), BUGS.values(), ids=BUGS)
def test_a_bug_in_a_check_is_raised_and_pointed_at(function: Any, kind: type[BaseException]) -> None:
    for contract, name in (
        (Contract(True, checks=[custom(function)]), "tried"),
        (Contract(True, checks=[function]), "<lambda>"),
    ):
        with pytest.raises(kind) as caught:
            contract.check("{}")
        bug = bug_of(caught.value)
        assert bug is not None
        line = function.__code__.co_firstlineno
        assert (bug.what, bug.place) == (f"the check {name!r}", f"tests/contract/test_plugins.py:{line}")
        assert caught.value.__notes__ == [f"This is a bug in {bug.what} at {bug.place}, not a fault of the reply"]
        with pytest.raises(kind):
            asyncio.run(contract.acheck("{}"))


def test_the_exception_is_the_very_one_that_the_check_raised() -> None:
    own = LookupError("no such customer")

    def look_up(verdict: Verdict, context: Any) -> None:
        raise own

    with pytest.raises(LookupError) as caught:
        Contract(True, checks=[look_up]).check("{}")
    assert caught.value is own


def test_a_check_that_stops_an_iteration_has_a_bug_too() -> None:
    with pytest.raises(RuntimeError) as caught:  # Python's own message
        Contract(True, checks=[stops]).check("{}")
    bug = bug_of(caught.value)
    assert bug is not None
    assert bug.kind == "StopIteration"


def too_cheap(verdict: Verdict, context: Any) -> Any:
    """A check that refuses in the way of a validator."""
    yield {"price": verdict.data["price"]}
    if verdict.data["price"] < 1:
        yield Finding("ZZZ001", "$.price", "hardly worth it")
    if verdict.data["price"] < 5:
        raise ValueError(f"{verdict.data['price']} is too cheap")


def test_a_check_refuses_a_reply_by_raising_a_value_error() -> None:
    own = check("TST030", "too-cheap", "The price is too low.", level="warning")(too_cheap)
    for contract, code in ((Contract(True, checks=[own]), "TST030"), (Contract(True, checks=[too_cheap]), "B008")):
        assert contract.check('{"price": 7}').ok
        verdict = contract.check('{"price": 3}')
        (found,) = verdict.findings
        assert (found.code, found.level, found.message, verdict.ok) == (code, "error", "3 is too cheap", False)
        assert found.data["error"] == "ValueError"
        assert verdict.metrics == {"price": 3}
        both = contract.check('{"price": 0}')
        assert [found.code for found in both.findings] == sorted(["ZZZ001", code], key=code.__eq__)


def test_findings_before_an_asynchronous_check_refuses_are_kept() -> None:
    async def careful(verdict: Verdict, context: Any) -> Any:
        yield Finding("ZZZ001", "$", "first")
        raise AssertionError("second")

    for verdict in (
        Contract(True, checks=[careful]).check("{}"),
        asyncio.run(Contract(True, checks=[careful]).acheck("{}")),
    ):
        assert [found.message for found in verdict.findings] == ["first", "second"]


def test_a_refusal_without_a_message_names_the_check() -> None:
    def bare(verdict: Verdict, context: Any) -> None:
        raise AssertionError  # pytest adds text to an assert

    assert Contract(True, checks=[bare]).check("{}").reason == "The check 'bare' refused the reply"
    assert Contract(True, checks=[custom(bare)]).check("{}").reason == "Tried"


def test_the_errors_of_pydantic_refuse() -> None:
    class Price(pydantic.BaseModel):
        amount: int

    def priced(verdict: Verdict, context: Any) -> None:
        Price.model_validate(verdict.data)

    (found,) = Contract(True, checks=[priced]).check('{"amount": "many"}').findings
    assert found.code == "B008"
    assert found.message.startswith("amount: Input should be a valid integer")


def test_a_bug_in_a_contract_that_a_check_uses_stays_a_bug() -> None:
    inner = Contract(True, checks=[lambda verdict, context: {"": 1}])  # a ValueError of ours
    with pytest.raises(ValueError, match="the name of a metric") as caught:
        Contract(True, checks=[lambda verdict, context: inner.check("{}").findings]).check("{}")
    assert bug_of(caught.value) is not None


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
    assert (found.code, found.message, found.data) == ("B008", "a text", {"check": "<lambda>"})
    with pytest.raises(TypeError, match="checks must be a list"):
        Contract(True, checks="polite")
    with pytest.raises(TypeError, match="a check must be a name"):
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


def test_a_metric_that_cannot_be_kept_is_a_bug_in_its_check() -> None:
    for metrics in ({"total_text_length": 3}, {"score": float("inf")}, {"score": object()}, {"": 1}, {3: 1}):
        contract = Contract(reply=True, checks=[lambda verdict, context, metrics=metrics: metrics])
        with pytest.raises(ValueError, match="metric") as caught:
            contract.check("I understand.")
        assert bug_of(caught.value) is not None


def test_checks_see_earlier_findings() -> None:
    seen: list[Any] = []

    def look(verdict: Verdict, context: Any) -> None:
        seen.append([found.code for found in verdict.findings])

    Contract(reply=True, checks=[look]).check("Yes")
    assert seen == [["Q006"]]
