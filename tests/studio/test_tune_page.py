"""The page Tune: suggestions from labels with their diffs and backtests, written into the file on request."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.studio.conftest import axe
from tests.studio.driving import expect
from tests.studio.support_desk import FILE, SupportDesk, make_desk
from trueup.contract.lint.run import lint_contract, load_contract

pytestmark = pytest.mark.needs("browser")


@pytest.fixture
def support(tmp_path: Path) -> SupportDesk:
    return make_desk(tmp_path)


def opened(served: Any, look: Any, support: SupportDesk, path: str = "/tune", **more: Any) -> Any:
    desk = served(more.pop("role", "editor"), folders=(support.folder,), store=support.store)
    return look(desk, path, **more)


def see(locator: Any, text: str) -> None:
    expect(locator).to_contain_text(text)


def button(tab: Any, name: str) -> Any:
    return tab.get_by_role("button", name=name, exact=True)


def test_a_suggestion_is_applied_and_the_next_run_sees_the_rest(served: Any, look: Any, support: SupportDesk) -> None:
    before = support.text
    tab = opened(served, look, support)
    expect(tab).to_have_url(re.compile(r"file=contracts%2Ftriage\.yaml"))
    cards = tab.locator(".suggestion")
    see(cards.first, "category is often 'returns': allow the value")
    see(cards.first, "By chance alone, the labels would look like this fewer than 1 time in 1,000")
    see(cards.first, "32newly accepted")
    see(cards.first, "12 / 0labels say better / worse")
    see(cards.first.get_by_role("list", name="Replies that decided"), "people accept it")
    assert re.search(r"\+\s+category: .*, returns\]", cards.first.locator(".patch").inner_text())
    see(tab.get_by_role("region", name="Measured rules"), "summary_says_enough")
    assert axe(tab) == []
    tab.keyboard.press("j")
    tab.keyboard.press("a")
    dialog = tab.get_by_role("dialog")
    see(dialog, "Rule 'summary_says_enough' is too strict: 60 → 20")
    assert axe(tab) == []
    assert support.text == before
    button(tab, "Write to triage.yaml").click()
    see(tab.locator(".applied"), "Written to contracts/triage.yaml, with")
    see(tab.locator(".applied"), "--reload")
    assert support.text.startswith(before.replace(">= 60", ">= 20")), "comments are kept"
    assert not lint_contract(support.file).faults
    assert lint_contract(support.file).examples
    expect(button(tab, "Apply…").first).to_be_disabled()
    button(tab, "Run again to see what is left").click()
    see(tab.locator(".summary"), "1 suggestion from 300 replies, 80 of them labelled")
    see(cards.first, "allow the value")


def test_several_suggestions_are_applied_together_without_examples(
    served: Any, look: Any, support: SupportDesk
) -> None:
    tab = opened(served, look, support, f"/tune?file={FILE}")
    button(tab, "Apply all 2…").click()
    tab.get_by_label(re.compile("Add the deciding replies")).uncheck()
    button(tab, "Write to triage.yaml").click()
    see(tab.locator(".applied"), "Written to")
    contract = load_contract(support.file)
    assert contract.check('{"category": "returns", "urgency": 1, "summary": "Twenty characters are enough."}').ok
    assert "examples:" not in support.text


def test_a_suggestion_can_be_tried_out_in_the_editor(served: Any, look: Any, support: SupportDesk) -> None:
    tab = opened(served, look, support, f"/tune?file={FILE}")
    tab.locator(".suggestion").nth(1).get_by_role("button", name="Show flips").click()
    see(tab.locator(".cm-content"), "len(summary) >= 20")
    see(tab.locator(".figures"), "49")
    see(tab.locator("#bar-actions"), "Save 1 change")
    button(tab, "Discard").click()


def test_a_file_that_has_changed_is_not_overwritten(served: Any, look: Any, support: SupportDesk) -> None:
    tab = opened(served, look, support, f"/tune?file={FILE}", fails=("/tune/apply",))
    button(tab, "Apply…").first.click()
    changed = support.text.replace("maximum: 5", "maximum: 4")
    support.file.write_text(changed)
    button(tab, "Write to triage.yaml").click()
    see(tab.get_by_role("dialog"), "has changed since you opened it")
    assert axe(tab) == []
    button(tab, "Cancel").click()
    assert support.text == changed


def test_missing_labels_a_missing_store_and_missing_rights_are_explained(
    served: Any, look: Any, tmp_path: Path
) -> None:
    support = make_desk(tmp_path, labels=0, replies=120)
    tab = opened(served, look, support, role="reader", width=400, dark=True)
    see(tab.locator(".suggestions"), "Nobody has labelled a reply of this contract yet")
    see(tab.get_by_role("region", name="Rules that need labels"), "fired 32 · 0 of 10 labels")
    needed = tab.get_by_role("region", name="Rules that need labels")
    assert needed.get_by_role("link").count() == 0, "a reader cannot label"
    assert axe(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab = opened(served, look, support, role="labeller", width=400, dark=True)
    label = tab.get_by_role("region", name="Rules that need labels").get_by_role("link").first
    assert "queue=1" in label.get_attribute("href")
    assert axe(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab = look(served(folders=(support.folder,)), "/tune")
    see(tab.locator("main"), "No store is open")
    empty = tmp_path / "empty"
    empty.mkdir()
    tab = look(served(folders=(empty,), store=support.store), "/tune")
    see(tab.locator("main"), "There is no contract file in the studio's folders")


def test_a_user_who_may_not_edit_sees_suggestions(served: Any, look: Any, support: SupportDesk) -> None:
    tab = opened(served, look, support, role="labeller")
    see(tab.locator(".suggestion").first, "Your key may not edit files.")
    assert button(tab, "Apply…").count() == 0


def test_several_contracts_are_listed_with_their_numbers_of_labels(
    served: Any, look: Any, support: SupportDesk
) -> None:
    """Contracts with labels first; each row links to its suggestions."""
    other = support.folder / "another.yaml"
    other.write_text("name: another\nschema: true\n")
    tab = opened(served, look, support, width=400)
    rows = tab.locator("tbody tr")
    see(rows.nth(0), "triage")
    see(rows.nth(0), "80")
    see(rows.nth(1), "another")
    assert axe(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    rows.nth(0).get_by_role("link").first.click()
    expect(tab).to_have_url(re.compile(r"file=contracts%2Ftriage\.yaml"))
