"""Drafts under pressure: keys while a text is saved or checked, files that vanish, changes of the same lines by others,
and failing answers.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.studio.conftest import axe
from tests.studio.driving import Held, expect
from tests.studio.support_desk import FILE, SupportDesk, make_desk
from tests.studio.test_contracts_page import button, edit, figure, opened, see
from trueup import Contract
from trueup.cli.main import main
from trueup.contract.lint.run import load_contract
from trueup.store.open import open_store
from trueup.store.redaction import Redaction

pytestmark = pytest.mark.needs("browser")


@pytest.fixture
def support(tmp_path: Path) -> SupportDesk:
    return make_desk(tmp_path, replies=60, labels=12)


@pytest.mark.parametrize("typed", ["46", "60"], ids=["another text", "the old text"])
def test_text_typed_during_saving_is_kept(served: Any, look: Any, support: SupportDesk, typed: str) -> None:
    tab = opened(served, look, support)
    before = support.text
    edit(tab, "60", "45")
    held = Held(tab, "**/api/contracts/file*", "PUT")
    tab.keyboard.press("Control+s")
    held.wait(tab)
    edit(tab, "45", typed)
    held.release()
    see(tab.locator(".messages"), f"Saved {FILE}.")
    assert support.text == before.replace(">= 60", ">= 45")
    see(tab.locator(".cm-content"), f"len(summary) >= {typed}")
    see(tab.locator("#bar-actions"), "Save 1 change")
    tab.keyboard.press("Control+s")
    expect(button(tab, "Save")).to_be_disabled()
    assert support.text == before.replace(">= 60", f">= {typed}")
    tab.keyboard.press("Control+s")
    see(tab.locator(".messages"), "There is nothing to save.")


@pytest.mark.parametrize("view", ["/contracts/", "/try?file="])
def test_errors_of_an_older_text_do_not_keep_the_new_one_from_being_saved(
    served: Any, look: Any, support: SupportDesk, view: str
) -> None:
    tab = opened(served, look, support, f"{view}{FILE}")
    before = support.text
    see(tab.locator(".cm-content").last, "len(summary)")
    edit(tab, "60", "")
    see(tab.locator(".foot [class=bad], .foot .link.bad"), "1 error")
    held = Held(tab, "**/api/judge", "POST")
    tab.keyboard.insert_text("45")
    held.wait(tab)
    tab.keyboard.press("Control+s")
    see(tab.locator(".messages"), f"Saved {FILE}.")
    assert support.text == before.replace(">= 60", ">= 45")
    held.release()


def test_an_unchecked_text_with_errors_is_saved_only_when_confirmed(
    served: Any, look: Any, support: SupportDesk
) -> None:
    tab = opened(served, look, support, fails=("/contracts/file",))
    before = support.text
    held = Held(tab, "**/api/judge", "POST")
    edit(tab, "60", "60 +")
    tab.keyboard.press("Control+s")
    dialog = tab.get_by_role("dialog")
    see(dialog, "The linter reports 1 error.")
    expect(dialog.get_by_role("listitem")).to_have_count(1)
    assert support.text == before
    button(tab, "Save anyway").click()
    see(tab.locator(".messages"), f"Saved {FILE}.")
    assert support.text == before.replace(">= 60", ">= 60 +")
    held.release()


def test_the_saved_text_is_shown_immediately(served: Any, look: Any, support: SupportDesk) -> None:
    """Not only after the file was read again: a key before that would change the old text."""
    tab = opened(served, look, support)
    before = support.text
    edit(tab, "60", "45")
    held = Held(tab, "**/api/contracts/file*", "GET")
    tab.keyboard.press("Control+s")
    see(tab.locator(".messages"), f"Saved {FILE}.")
    see(tab.locator(".cm-content"), "len(summary) >= 45")
    edit(tab, "45", "46")
    held.release()
    tab.keyboard.press("Control+s")
    expect(button(tab, "Save")).to_be_disabled()
    assert support.text == before.replace(">= 60", ">= 46")


def test_figures_of_the_last_text_stay_during_typing(served: Any, look: Any, support: SupportDesk) -> None:
    tab = opened(served, look, support)
    edit(tab, "60", "20")
    see(tab.locator(".replies .foot"), "Judged 60 of 60")
    held = Held(tab, "**/api/judge", "POST")
    tab.keyboard.press("Backspace")
    held.wait(tab)
    assert re.fullmatch(r"\d+", figure(tab, "unchanged").inner_text())
    expect(tab.locator(".outcome.stale")).to_be_visible()
    held.release()
    expect(tab.locator(".outcome.stale")).to_have_count(0)
    button(tab, "Discard").click()


def test_an_unanswered_lint_request_does_not_count_as_no_faults(served: Any, look: Any, support: SupportDesk) -> None:
    tab = opened(served, look, support, fails=("/judge",))
    tab.route(
        "**/api/judge",
        lambda route: route.fulfill(status=503, json={"error": {"code": "busy", "message": "Too much.", "hint": ""}}),
    )
    edit(tab, "60", "20")
    see(tab.locator(".contract-text .foot"), "not checked")
    assert "no problems" not in tab.locator(".contract-text .foot").inner_text()
    button(tab, "Discard").click()


def test_a_draft_survives_a_reload(served: Any, look: Any, support: SupportDesk) -> None:
    tab = opened(served, look, support)
    edit(tab, "60", "20")
    see(tab.locator("#bar-actions"), "Save 1 change")
    tab.on("dialog", lambda dialog: dialog.accept())
    tab.reload()
    see(tab.locator(".cm-content"), "len(summary) >= 20")
    see(tab.locator("#bar-actions"), "Save 1 change")
    button(tab, "Discard").click()
    tab.reload()
    see(tab.locator(".cm-content"), "len(summary) >= 60")


def test_a_suggestion_does_not_replace_a_draft_without_asking(served: Any, look: Any, tmp_path: Path) -> None:
    support = make_desk(tmp_path / "x")
    tab = opened(served, look, support)
    edit(tab, "maximum: 5}", "maximum: 4}")
    see(tab.locator("#bar-actions"), "Save 1 change")
    tab.keyboard.press("Escape")
    tab.get_by_role("link", name="Tune").click()
    tab.locator(".suggestion").nth(1).get_by_role("button", name="Show flips").click()
    see(tab.locator(".cm-content"), "len(summary) >= 20")
    see(tab.locator(".cm-content"), "maximum: 4")
    button(tab, "Discard").click()


def test_contracts_broken_by_a_saved_base_are_named(served: Any, look: Any, support: SupportDesk) -> None:
    child = "extends: triage.yaml\nname: child\nrules: [{name: calm, expr: urgency < 5}]\n"
    (support.folder / "child.yaml").write_text(child)
    tab = opened(served, look, support)
    see(tab.locator(".contract-text"), "A change here also affects the files that extend it: contracts/child.yaml.")
    edit(tab, "60", "60 +")
    see(tab.locator(".contract-text .foot"), "1 error")
    tab.keyboard.press("Control+s")
    button(tab, "Save anyway").click()
    see(tab.locator(".messages"), "The linter reports 1 problem. Errors in files that extend it: contracts/child.yaml.")


def test_a_draft_that_cannot_be_saved_can_be_discarded(served: Any, look: Any, support: SupportDesk) -> None:
    tab = opened(served, look, support, role="reader")
    edit(tab, "60", "20")
    button(tab, "Discard").click()
    see(tab.locator(".cm-content"), "len(summary) >= 60")
    assert tab.get_by_role("button", name=re.compile("^Save")).count() == 0


def test_a_file_with_errors_keeps_its_history(served: Any, look: Any, support: SupportDesk) -> None:
    support.file.write_text(support.text.replace("len(summary)", "len(sumary"))
    tab = opened(served, look, support)
    see(tab.locator(".contract-text .foot"), "1 error")
    tab.get_by_role("tab", name="Versions").click()
    see(tab.get_by_role("list", name="Versions, newest first"), "40 verdicts")
    tab.get_by_role("tab", name="Codes over time").click()
    see(tab.locator(".charted").first, "B005")
    tab.get_by_role("tab", name="Precision").click()
    see(tab.locator(".precision tbody tr").first, "summary_says_enough")


def test_the_same_change_on_both_sides_merges_cleanly(served: Any, look: Any, support: SupportDesk) -> None:
    tab = opened(served, look, support, fails=("/contracts/file",))
    theirs = support.text.replace(">= 60", ">= 20").replace("name: triage", "name: triage\nversion: 2")
    edit(tab, "60", "20")
    support.file.write_text(theirs)
    tab.keyboard.press("Control+s")
    button(tab, "Take both").click()
    expect(button(tab, "Save")).to_be_disabled()
    see(tab.locator(".cm-content"), "version: 2")
    assert support.text == theirs


def test_a_deleted_file_is_reported(served: Any, look: Any, support: SupportDesk) -> None:
    tab = opened(served, look, support, fails=("/api/",))
    before = support.text
    edit(tab, "60", "20")
    support.file.unlink()
    tab.keyboard.press("Control+s")
    dialog = tab.get_by_role("dialog")
    see(dialog, "no longer there")
    button(tab, "Write it again").click()
    see(tab.locator(".messages"), f"Saved {FILE}.")
    assert support.text == before.replace(">= 60", ">= 20")


def test_a_flip_that_no_longer_flips_is_not_replaced_by_another(served: Any, look: Any, support: SupportDesk) -> None:
    tab = opened(served, look, support, f"/contracts/{FILE}?flip={'0' * 32}")
    edit(tab, "60", "20")
    see(tab.locator(".replies .foot"), "Judged 60 of 60")
    see(tab.locator(".flips h2"), "Flips")
    assert tab.locator(".flips tbody tr").count() > 1
    button(tab, "Discard").click()


def test_labelling_moves_on_when_the_labelled_flip_leaves_the_list(
    served: Any, look: Any, support: SupportDesk
) -> None:
    tab = opened(served, look, support, f"/contracts/{FILE}?label=unlabelled")
    edit(tab, "60", "5")
    see(tab.locator(".replies .foot"), "Judged 60 of 60")
    many = tab.locator(".flips tbody tr").count()
    tab.locator(".flips tbody button").nth(1).click()
    see(tab.locator(".flips h2"), f"Flip 2 of {many}")
    second = tab.url
    tab.keyboard.press("r")
    see(tab.locator(".flips h2"), f"Flip 2 of {many - 1}")
    expect(tab).not_to_have_url(second)
    button(tab, "Discard").click()


def test_having_no_replies_is_not_shown_as_unchanged_replies(served: Any, look: Any, support: SupportDesk) -> None:
    with open_store(support.store, redaction=Redaction(bodies="none")) as store:
        store.record_verdict(load_contract(support.file).check("{}"), contract="triage", model="lost")
    tab = opened(served, look, support, f"/contracts/{FILE}?state=NEVER")
    edit(tab, "60", "20")
    see(tab.locator(".flips"), "The store has no matching replies.")
    see(tab.locator(".figures"), "no reply judged")
    tab.get_by_label("Replies: state").select_option("")
    tab.get_by_label("Replies: model").select_option("lost")
    see(tab.locator(".flips"), "None of these replies can be judged again")
    button(tab, "Discard").click()


def test_a_suggestion_may_change_an_extended_file(served: Any, look: Any, tmp_path: Path) -> None:
    support = make_desk(tmp_path / "x")
    base = support.folder / "base.yaml"
    before = support.text.replace("name: triage\n", "")
    base.write_text(before)
    support.file.write_text("extends: base.yaml\nname: triage\n")
    tab = opened(served, look, support, f"/tune?file={FILE}")
    button(tab, "Apply…").nth(1).click()
    dialog = tab.get_by_role("dialog", name="Write this change into contracts/base.yaml?")
    see(dialog, f"{FILE} extends it.")
    button(tab, "Cancel").click()
    assert button(tab, "Show flips").count() == 0
    button(tab, "Apply…").nth(1).click()
    button(tab, "Write to base.yaml").click()
    see(tab.locator(".applied"), f"Written to contracts/base.yaml and {FILE}")
    assert base.read_text() == before.replace(">= 60", ">= 20")


def test_without_labels_the_command_for_labelling_is_shown(served: Any, look: Any, tmp_path: Path) -> None:
    support = make_desk(tmp_path / "x", labels=0, replies=60)
    tab = opened(served, look, support, f"/contracts/{FILE}?tab=precision")
    command = tab.locator(".banner code").inner_text()
    assert command == "trueup label STORE --judged-by triage"
    done = CliRunner().invoke(main, [*command.replace("STORE", support.store).split()[1:], "--summary"])
    assert done.exit_code == 0, done.output


def test_a_narrow_window_shows_the_whole_conflict(served: Any, look: Any, support: SupportDesk) -> None:
    tab = opened(served, look, support, width=400, height=800, fails=("/contracts/file",))
    edit(tab, "60", "20")
    support.file.write_text(support.text.replace("maximum: 5", "maximum: 4"))
    tab.keyboard.press("Control+s")
    see(tab.get_by_role("dialog"), "Their change")
    assert tab.locator("dialog").evaluate("(dialog) => dialog.scrollWidth <= dialog.clientWidth")
    for name in ("Load theirs", "Save mine over it", "Take both", "Keep editing"):
        box = button(tab, name).bounding_box()
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 400
    button(tab, "Keep editing").click()
    button(tab, "Discard").click()


def test_figures_of_the_last_text_stay_while_it_has_an_error(served: Any, look: Any, support: SupportDesk) -> None:
    tab = opened(served, look, support)
    edit(tab, "60", "20")
    see(tab.locator(".replies .foot"), "Judged 60 of 60")
    edit(tab, "20", "20 +")
    see(tab.locator(".conclusion"), "The text has 1 error. The replies are judged once it is valid.")
    assert re.fullmatch(r"\d+", figure(tab, "unchanged").inner_text())
    see(tab.locator(".replies .foot"), "Waiting for a text without errors")
    assert tab.locator(".replies .foot button").count() == 0
    assert axe(tab) == []
    edit(tab, "20 +", "20")
    see(tab.locator(".replies .foot"), "Judged 60 of 60")
    button(tab, "Discard").click()


def test_a_version_that_cannot_be_rebuilt_is_not_offered_for_a_backtest(
    served: Any, look: Any, support: SupportDesk
) -> None:
    with open_store(support.store) as store:
        contract = Contract({"type": "object"}, name="triage", checks=[lambda *_: None])
        store.record_verdict(contract.check("{}"), contract=contract)
    tab = opened(served, look, support, f"/contracts/{FILE}?tab=versions")
    see(tab.locator(".banner"), "The store does not have all of it")
    assert tab.get_by_role("link", name="Backtest the file").count() == 0
    tab.keyboard.press("j")
    expect(tab.get_by_role("link", name="Backtest the file")).to_be_visible()
