"""The migration page lists every name that is deprecated, and every deprecated name still works and warns its caller."""

import ast
import pkgutil
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from trueup import Contract
from trueup.ask import gate, prices
from trueup.contract import acting, forms
from trueup.store import records
from trueup.verdict.events import Checked

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "migrating.md").read_text("utf-8")
_SAID = re.compile(r"(?P<old>.+) is deprecated since (?P<since>[\d.]+); use (?P<new>.+)")

# The code of a caller of each old name.
OLD: dict[str, Callable[[], object]] = {
    "Verdict.confidence": lambda: Contract().check("Hello.").confidence,
    "Checked.confidence": lambda: Checked().confidence,
    "trueup.contract.acting": lambda: acting.execute,
    "trueup.contract.forms": lambda: forms.Given,
    "trueup.ask.gate.Part": lambda: gate.Part,
    "trueup.ask.prices.Listed": lambda: prices.Listed,
    "trueup.store.records.Raw": lambda: records.Raw,
    "stream(context)": lambda: Contract(True).stream({"state": "IDLE"}),
}


def messages() -> list[str]:
    """The text of every DeprecationWarning in the sources; where it is put together, each part that varies is `…`."""
    sources = (path.read_text("utf-8") for path in sorted((ROOT / "src").rglob("*.py")))
    trees = [ast.parse(source) for source in sources if "DeprecationWarning" in source]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [text_of(call.args[0]) for call in calls if "DeprecationWarning" in map(ast.unparse, given(call))]


def given(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call after the first, by place and by name."""
    return [*call.args[1:], *(keyword.value for keyword in call.keywords)]


def text_of(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) for part in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else "…"


MESSAGES = messages()


@pytest.mark.parametrize("message", MESSAGES)
def test_every_deprecation_is_on_the_page_with_its_new_name(message: str) -> None:
    match = _SAID.fullmatch(message)
    assert match, "the message says: … is deprecated since 0.2; use …"
    rows = [line for line in PAGE.splitlines() if line.startswith("|")]
    assert [row for row in rows if f"`{match['old']}`" in row and f"`{match['new']}`" in row], "no row lists it"


def test_every_deprecation_is_tried_below() -> None:
    assert MESSAGES
    assert {message.partition(" is deprecated")[0] for message in MESSAGES} == set(OLD)


def cells(column: int) -> str:
    """One column of every table of the page."""
    return "\n".join(line.split("|")[column] for line in PAGE.splitlines() if line.startswith("|"))


def is_there(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_new_places_exist_and_old_ones_are_gone_or_deprecated() -> None:
    old, new = (re.findall(r"`(trueup(?:\.\w+)+)", cells(column)) for column in (1, 2))
    assert old
    assert all(is_there(name) for name in new)
    assert not [name for name in old if name not in OLD and is_there(name)]


@pytest.mark.parametrize("name", OLD)
def test_an_old_name_works_and_warns_the_line_that_uses_it(name: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert OLD[name]() is not None
    told = [(str(warning.message).partition(" is deprecated")[0], warning.filename) for warning in caught]
    assert told == [(name, __file__)]
