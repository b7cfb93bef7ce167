"""The page Contracts: change a text, see what flips, save it; conflicts, errors, versions, codes and precision."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.studio.conftest import axe
from tests.studio.driving import expect
from tests.studio.support_desk import FILE, SupportDesk, make_desk
from tests.waiting import wait_for
from trueup.contract.lint.run import load_contract
from trueup.store.open import open_store

pytestmark = pytest.mark.needs("browser")


@pytest.fixture
def support(tmp_path: Path) -> SupportDesk:
    return make_desk(tmp_path)


def opened(served: Any, look: Any, support: SupportDesk, path: str = f"/contracts/{FILE}", **more: Any) -> Any:
    role = more.pop("role", "editor")
    desk = served(role, folders=(support.folder,), store=support.store)
    return look(desk, path, **more)


def edit(tab: Any, old: str, new: str) -> None:
    """Replace the characters at the end of a line."""
    tab.locator(".cm-line", has_text=old).click()
    tab.keyboard.press("End")
    for _ in old:
        tab.keyboard.press("Backspace")
    tab.keyboard.insert_text(new)


def figure(tab: Any, title: str) -> Any:
    return tab.locator(".figures .card", has=tab.get_by_text(title, exact=True)).locator(".figure")


def see(locator: Any, text: str) -> None:
    """Wait until an element shows a text."""
    expect(locator).to_contain_text(text)


def button(tab: Any, name: str) -> Any:
    return tab.get_by_role("button", name=name, exact=True)


def test_a_change_flips_replies_and_is_saved_with_its_comments(served: Any, look: Any, support: SupportDesk) -> None:
    before = support.text
    tab = opened(served, look, support)
    assert button(tab, "Save").is_disabled()
    edit(tab, "60", "20")
    see(figure(tab, "newly accepted"), "49")
    see(figure(tab, "unchanged"), "251")
    see(tab.locator(".replies .foot"), "Judged 300 of 300")
    assert "McNemar p < 0.001" in tab.locator(".figures").inner_text()
    assert re.search(r"−\d+\s+regenerations a month\s+saves \$", tab.locator(".figures").inner_text())
    expect(tab.locator(".flips table.list tbody tr")).to_have_count(49)
    assert "summary_says_enough" in tab.locator(".flips tbody tr").first.inner_text()
    assert tab.locator(".flips tbody mark").first.inner_text().startswith('"')
    assert axe(tab) == []
    tab.get_by_role("tab", name="Change 1").click()
    assert re.search(
        r"-\s+expr: len\(summary\) >= 60\s+\+\s+expr: len\(summary\) >= 20", tab.locator(".patch").inner_text()
    )
    assert support.text == before, "nothing is written before it is saved"
    tab.keyboard.press("Control+s")
    see(tab.locator(".messages p"), f"Saved {FILE}.")
    assert support.text == before.replace(">= 60", ">= 20"), "the text as typed, comments and all"
    assert button(tab, "Save").is_disabled()
    see(tab.locator(".flips"), "Change the text.")


def test_flips_can_be_filtered_browsed_and_labelled_by_keyboard(served: Any, look: Any, support: SupportDesk) -> None:
    tab = opened(served, look, support)
    edit(tab, "60", "20")
    see(figure(tab, "newly accepted"), "49")
    tab.get_by_label("Flips: all models").select_option("small-1")
    tab.get_by_label("Flips: all labels").select_option("unlabelled")
    expect(tab).to_have_url(re.compile("of_model=small-1&label=unlabelled"))
    rows = tab.locator(".flips tbody tr")
    count = rows.count()
    assert 0 < count < 49
    assert {"not labelled"} == set(rows.locator("td:last-child").all_inner_texts())
    tab.get_by_label("Flips: all labels").select_option("")
    tab.locator("h1").evaluate("() => document.activeElement.blur()")
    for key in ("j", "j", "k", "j", "Enter"):
        tab.keyboard.press(key)
    see(tab.locator(".flips h2"), "Flip 2 of")
    see(tab.get_by_role("region", name="Old contract", exact=True), "Refused")
    see(tab.get_by_role("region", name="New contract", exact=True), "Accepted")
    chosen = tab.locator(".flip .mark.chosen").first
    chosen.wait_for()
    assert axe(tab) == []
    shared = tab.url
    first = shared.split("flip=")[1][:32]
    tab.keyboard.press("r")
    see(tab.locator(".flips h2"), "Flip 3 of")
    second = tab.url.split("flip=")[1][:32]
    tab.keyboard.press("w")
    see(tab.locator(".flips h2"), "Flip 4 of")
    tab.keyboard.press("Escape")
    see(tab.locator(".flips tbody tr").nth(1), "new is right")
    see(tab.locator(".flips tbody tr").nth(2), "new is wrong")
    with open_store(support.store) as store:

        def said() -> dict[str, str]:
            rows = store.labels(verdicts=[first, second])
            return {row["verdict"]: row["outcome"] for row in rows if row["author"] != "ana"}

        wait_for(lambda: len(said()) == 2, "a label is shown before it is stored, and stored all the same")
        assert said() == {first: "wrong", second: "right"}, (
            "the refusal that was recorded is wrong if it is right to accept it now"
        )


def test_a_file_changed_by_somebody_else_is_a_conflict(served: Any, look: Any, support: SupportDesk) -> None:
    tab = opened(served, look, support, fails=("/contracts/file",))
    before = support.text
    edit(tab, "60", "20")
    theirs = before.replace("maximum: 5", "maximum: 4")
    support.file.write_text(theirs)
    tab.keyboard.press("Control+s")
    dialog = tab.get_by_role("dialog", name="The file has changed since you opened it")
    see(dialog.get_by_role("group", name="Their change"), "maximum: 4")
    see(dialog.get_by_role("group", name="Your change"), ">= 20")
    assert axe(tab) == []
    button(tab, "Keep editing").click()
    assert support.text == theirs
    tab.keyboard.press("Control+s")
    button(tab, "Take both").click()
    see(tab.locator(".messages"), "Check it, then save.")
    see(tab.locator(".cm-content"), "maximum: 4")
    tab.keyboard.press("Control+s")
    see(tab.locator(".messages"), f"Saved {FILE}.")
    assert support.text == theirs.replace(">= 60", ">= 20")

    edit(tab, "20", "30")
    support.file.write_text(theirs.replace(">= 60", ">= 50"))
    tab.keyboard.press("Control+s")
    see(dialog, "Both changes touch the same lines.")
    assert button(tab, "Take both").count() == 0
    button(tab, "Save mine over it").click()
    expect(button(tab, "Save")).to_be_disabled()
    assert support.text == theirs.replace(">= 60", ">= 30")

    edit(tab, "30", "31")
    support.file.write_text(before)
    tab.keyboard.press("Control+s")
    button(tab, "Load theirs").click()
    see(tab.locator(".cm-content"), ">= 60")
    assert support.text == before


def test_errors_are_shown_in_place_and_block_saving_until_forced(served: Any, look: Any, support: SupportDesk) -> None:
    tab = opened(served, look, support)
    before = support.text
    edit(tab, "len(summary) >= 60", "len(sumary >= 60")
    tab.locator(".cm-lintRange-error").wait_for()
    see(tab.locator(".contract-text .foot"), "1 error")
    see(tab.locator(".flips"), "The text has 1 error.")
    problem = tab.get_by_role("list", name="Problems").get_by_role("button")
    see(problem, "line 15")
    tab.locator("h1").evaluate("() => document.activeElement.blur()")
    problem.click()
    expect(tab.locator(".cm-editor.cm-focused")).to_be_visible()  # a click goes to the place
    assert axe(tab) == []
    tab.keyboard.press("Control+s")
    dialog = tab.get_by_role("dialog", name="Save a contract that does not work?")
    see(dialog, "line 15")
    button(tab, "Keep editing").click()
    assert support.text == before
    button(tab, "Discard").click()
    see(tab.locator(".contract-text .foot"), "no problems")
    see(tab.locator(".cm-content"), "len(summary) >= 60")
    tab.locator(".cm-content").click()
    tab.keyboard.press("Control+z")
    see(tab.locator(".contract-text .foot"), "1 error")
    tab.keyboard.press("Control+s")
    button(tab, "Save anyway").click()
    see(tab.locator(".messages").last, "The linter reports 1 problem.")
    assert support.text == before.replace("len(summary) >= 60", "len(sumary >= 60")


def test_unsaved_changes_survive_leaving_the_view_and_warn_before_the_tab_closes(
    served: Any, look: Any, support: SupportDesk
) -> None:
    tab = opened(served, look, support)
    edit(tab, "60", "45")
    tab.get_by_role("tab", name="Versions").click()
    see(tab.locator(".crumbs"), "unsaved")
    tab.get_by_role("link", name="Contracts").first.click()
    see(tab.locator("tbody tr"), "unsaved")
    warned: list[str] = []
    tab.on("dialog", lambda dialog: (warned.append(dialog.type), dialog.dismiss()))
    with tab.expect_event("dialog"):
        tab.evaluate("setTimeout(() => location.reload())")
    assert warned == ["beforeunload"]
    tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    see(tab.locator(".cm-content"), ">= 45")
    button(tab, "Discard").click()


def test_versions_codes_and_precision_are_shown(served: Any, look: Any, support: SupportDesk) -> None:
    tab = opened(served, look, support)
    tab.get_by_role("tab", name="Versions").click()
    versions = tab.get_by_role("list", name="Versions, newest first").get_by_role("button")
    see(versions.first, "the file now")
    see(versions.first, "200 verdicts")
    see(versions.last, "100 verdicts")
    assert re.search(
        r"-\s+expr: len\(summary\) >= 80\s+\+\s+expr: len\(summary\) >= 60", tab.locator(".patch").inner_text()
    )
    assert axe(tab) == []
    tab.keyboard.press("j")
    see(tab.locator(".whole"), "len(summary) >= 80")
    tab.get_by_role("link", name="Backtest the file against this version").click()
    see(tab.locator(".replies"), "Compared with the version")
    see(figure(tab, "newly accepted"), "29")
    tab.reload()  # everything is in the URL
    see(figure(tab, "newly accepted"), "29")
    tab.get_by_role("tab", name="Codes over time").click()
    see(tab.locator(".charted").first, "B005")
    see(tab.locator(".charted").last, "A business rule is broken.")
    see(tab.locator(".charted").last, "84")
    assert axe(tab) == []
    tab.get_by_role("tab", name="Precision").click()
    see(tab.locator(".precision tbody tr").first, "summary_says_enough")
    see(tab.locator(".precision tbody tr").first, "%")
    assert axe(tab) == []
    tab.get_by_role("link", name="Suggest changes from these labels").click()
    tab.wait_for_url("**/tune?file=contracts%2Ftriage.yaml")


def test_the_list_shows_every_contract(served: Any, look: Any, support: SupportDesk) -> None:
    (support.folder / "broken.yaml").write_text("name: broken\nrules:\n  - 'n >'\n")
    (support.folder / "gateway.yaml").write_text("upstreams: {}\ncontracts: {}\n")
    with open_store(support.store) as store:
        gone = load_contract(support.file).check('{"category": "x"}')
        store.record_verdict(gone, contract="retired", model="m")
    tab = opened(served, look, support, "/contracts")
    rows = tab.locator("tbody tr")
    see(rows.nth(0), "1 error")
    see(rows.nth(1), "no problems")
    assert re.search(r"triage.*300\s+39 %\s+2\s", rows.nth(1).inner_text(), re.DOTALL)
    see(rows.nth(2), "Only in the store")
    see(rows.nth(3), "retired")
    assert rows.count() == 4
    assert axe(tab) == []
    for key in ("j", "j", "j"):
        tab.keyboard.press(key)
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/contracts?stored=retired")
    see(tab.locator(".crumbs"), "only in the store")
    tab.go_back()
    see(rows.nth(3), "retired")
    tab.keyboard.press("/")
    tab.keyboard.type("tri")
    expect(tab).to_have_url(re.compile(r"/contracts\?text=tri$"))
    expect(rows).to_have_count(1)
    rows.first.click()
    tab.wait_for_url(f"**/contracts/{FILE}")


@pytest.mark.parametrize(("width", "dark"), [(400, True), (2560, False)])
def test_the_page_fits_windows_of_other_sizes(
    served: Any, look: Any, support: SupportDesk, width: int, *, dark: bool
) -> None:
    tab = opened(served, look, support, width=width, dark=dark)
    edit(tab, "60", "20")
    see(figure(tab, "newly accepted"), "49")
    for view in ("", "?tab=versions", "?tab=codes", "?tab=precision"):
        if view:
            tab.get_by_role("tab", name=re.compile(view[5:], re.IGNORECASE)).click()
            tab.locator(".panel:visible").first.wait_for()
        assert axe(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.get_by_role("tab", name="Edit").click()
    button(tab, "Discard").click()


def test_a_reader_can_try_and_not_save(served: Any, look: Any, support: SupportDesk) -> None:
    tab = opened(served, look, support, role="reader")
    see(tab.locator(".contract-text"), "Your key is read-only")
    edit(tab, "60", "20")
    see(figure(tab, "newly accepted"), "49")
    assert button(tab, "Save 1 change").count() == 0
    tab.keyboard.press("Control+s")
    assert ">= 60" in support.text


def test_a_missing_store_or_missing_files_are_explained(
    served: Any, look: Any, tmp_path: Path, support: SupportDesk
) -> None:
    tab = look(served(folders=(support.folder,)), f"/contracts/{FILE}", fails=("/contracts/history",))
    see(tab.locator(".flips"), "No store is open")
    tab.get_by_role("tab", name="Versions").click()
    see(tab.get_by_role("alert"), "No store is open.")
    empty = tmp_path / "empty"
    empty.mkdir()
    tab = look(served(folders=(empty,)), "/contracts", fails=("/contracts/file",))
    see(tab.locator(".note"), "There is no contract file in the studio's folders (empty).")
    tab.goto(tab.url.replace("/contracts", "/contracts/empty/none.yaml"))
    see(tab.get_by_role("alert"), "There is no file")


@pytest.mark.spec("X21")
def test_hostile_names_and_texts_stay_text(served: Any, look: Any, tmp_path: Path) -> None:
    bad = "<img src=x onerror=alert(1)>"
    folder = tmp_path / "contracts"
    folder.mkdir()
    file = folder / f"{bad.replace('/', '')}.yaml"
    file.write_text(f"name: '{bad}'\nreply: {{min_text: 200}}\n")
    store = tmp_path / "v.db"
    contract = load_contract(file)
    with open_store(store) as opened_store:
        for number in range(3):
            text = f"</script><script>alert(1)</script>{bad}\u202e{number}"
            opened_store.record_verdict(contract.check(text), contract=contract, model=bad, state=bad)
    tab = look(served(folders=(folder,), store=str(store)), "/contracts")
    tab.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    see(tab.locator("tbody tr"), bad)
    tab.locator("tbody a.row").click()
    tab.locator(".cm-content").wait_for()
    edit(tab, "200}", "20}")
    see(figure(tab, "newly accepted"), "3")
    see(tab.locator(".flips tbody tr").first, bad)
    tab.locator(".flips tbody button").first.click()
    see(tab.get_by_role("region", name="New contract", exact=True), "Accepted")
    for name in ("Versions", "Codes over time", "Precision"):
        tab.get_by_role("tab", name=name).click()
        tab.locator(".tab .panel:visible").first.wait_for()
    assert tab.locator("main img, main script").count() == 0
    tab.get_by_role("tab", name="Edit").click()
    button(tab, "Discard").click()
