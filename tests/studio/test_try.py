"""Try in a real browser: a reply, a contract and the verdict, live; by mouse and by keys alone, shared, replayed, hostile and huge."""

import contextlib
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from tests.studio.conftest import SECRETS, axe
from tests.studio.driving import Held, expect
from tests.studio.test_marks import packed

pytestmark = [pytest.mark.needs("browser")]

CONTRACT = """name: person
schema:
  type: object
  properties: {name: {type: string}, age: {type: integer}, role: {enum: [engineer, writer]}}
  required: [name, age, role]
"""
REPLY = """Here you are: {'name': 'Ada', "age": "36", "role": "poet",}"""
HOSTILE = '<img src=x onerror=alert(1)></script><script>alert(2)</script> javascript:alert(3) {"name": \'<svg onload=alert(4)>\', "age": "<b>", "role": "<a href=\'javascript:alert(5)\'>"}'

PASTE = """([place, unit, times]) => {
  const data = new DataTransfer();
  data.setData("text/plain", unit.repeat(times));
  const target = document.querySelector(`${place} .cm-content`);
  target.focus();
  target.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
}"""
DROP = """([place, name, unit, times]) => {
  const data = new DataTransfer();
  data.items.add(new File([unit.repeat(times)], name));
  document.querySelector(place).dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
}"""


def shared(reply: str = REPLY, contract: str = CONTRACT, **more: str) -> str:
    return f"/try#{packed(reply=reply, contract=contract, **more)}"


def headline(tab: Any) -> Any:
    return tab.locator("#try-verdict .headline strong")


def message(tab: Any, text: str) -> None:
    expect(tab.locator(".messages")).to_contain_text(text)


def type_over(tab: Any, place: str, text: str) -> None:
    tab.locator(f"{place} .cm-content").click()
    tab.keyboard.press("Control+a")
    tab.keyboard.insert_text(text)


def test_a_first_visit_shows_a_judged_example_and_typing_judges_again(served: Any, look: Any) -> None:
    desk = served()
    tab = look(desk, "/")
    expect(headline(tab)).to_have_text("Refused")
    expect(tab.locator("#try-reply .mark.error")).to_have_text('"mathematician"')
    expect(tab.locator("#try-verdict h2")).to_contain_text(re.compile(r"judged in [\d.]+ m?s"))
    expect(tab.locator("#try-contract .foot")).to_contain_text("no problems")
    # a typed change is judged immediately, and its marks follow
    tab.locator("#try-reply .mark.error").dblclick()
    tab.keyboard.insert_text("writer")
    expect(headline(tab)).to_have_text("Accepted")
    expect(tab.locator("#try-reply .mark.error")).to_have_count(0)
    expect(tab).not_to_have_url(re.compile("example"))
    # a draft survives reloading the page, and a visit to another view
    tab.wait_for_function("() => sessionStorage.length > 0")
    tab.reload()
    expect(headline(tab)).to_have_text("Accepted")
    tab.locator("body").press("3")
    tab.locator("body").press("1")
    expect(headline(tab)).to_have_text("Accepted")
    # an example is in the URL; going back shows the previous one
    tab.get_by_label("Example").select_option("cut-off")
    expect(tab).to_have_url(re.compile("example=cut-off"))
    expect(headline(tab)).to_have_text("Refused")
    tab.get_by_label("Example").select_option("fence")
    expect(headline(tab)).to_have_text("Accepted")
    tab.go_back()
    expect(headline(tab)).to_have_text("Refused")
    # a missing example or file gives a message
    tab.goto(f"{desk.url}/try?example=nobody")
    message(tab, "There is no example nobody.")
    expect(headline(tab)).to_be_visible()


def test_marks_and_rows_select_each_other(served: Any, look: Any) -> None:
    tab = look(served(), shared())
    expect(headline(tab)).to_have_text("Refused")
    rows = tab.locator("#try-verdict .fact")
    mark = tab.locator("#try-reply .mark.error")
    mark.click()
    expect(rows.first).to_have_attribute("aria-current", "true")
    expect(tab.locator(".tips")).to_contain_text("V005")  # under the cursor
    guess = tab.locator("#try-reply .mark.guess")
    guess.hover()
    expect(tab.locator(".tips").last).to_contain_text('"36" → 36')
    tab.mouse.move(0, 0)
    rows.filter(has_text='"36" → 36').locator(".choose").click()
    expect(guess).to_have_class(re.compile("chosen"))
    expect(mark).not_to_have_class(re.compile("chosen"))
    # by keys alone: k and j move, e explains, Escape closes
    tab.locator("#try-verdict h2").click()
    for _ in range(9):
        tab.keyboard.press("k")
    expect(rows.first).to_have_attribute("aria-current", "true")
    tab.keyboard.press("e")
    dialog = tab.get_by_role("dialog")
    expect(dialog).to_contain_text("V005")
    expect(dialog.locator("pre").first).to_be_visible()
    assert axe(tab) == []
    tab.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    tab.keyboard.press("j")
    expect(rows.nth(1)).to_have_attribute("aria-current", "true")
    # in the reply, F8 goes from mark to mark, and each is announced
    tab.keyboard.press("i")
    expect(tab.locator("#try-reply .cm-content")).to_be_focused()
    tab.keyboard.press("F8")
    expect(tab.locator(".tips")).to_be_visible()
    expect(tab.locator("#try-reply p[aria-live]")).to_contain_text(re.compile(r"[A-Z]\d{3} "))
    tab.keyboard.press("Tab")
    expect(tab.locator("#try-reply .cm-content")).not_to_be_focused()
    # Tab indents in the contract; Escape, then Tab, leaves it
    contract = tab.locator("#try-contract .cm-content")
    contract.click()
    tab.keyboard.press("Tab")
    expect(contract).to_be_focused()
    tab.keyboard.press("Escape")
    tab.keyboard.press("Tab")
    expect(contract).not_to_be_focused()


def test_every_tab_shows_its_content(served: Any, look: Any) -> None:
    tab = look(served(), shared(contract=CONTRACT + "examples:\n  - {reply: '{}', gives: [V002]}\n"))
    expect(headline(tab)).to_have_text("Refused")
    tab.get_by_role("tab", name="Diff").click()
    expect(tab.locator(".diff ins").filter(has_text="36")).to_have_text("36")
    expect(tab.locator(".diff del").filter(has_text="'Ada'")).to_have_count(1)
    tab.locator(".diff .codes button").filter(has_text="C001").click()
    expect(tab.locator("#try-verdict .fact[aria-current]")).to_contain_text('"36" → 36')
    tab.get_by_role("tab", name="Original").click()
    expect(tab.locator("#try-reply .cm-line")).to_have_text(REPLY)
    expect(tab.locator("#try-reply .mark")).to_have_count(0)
    tab.get_by_role("tab", name="Value").click()
    expect(tab.locator("#verdict-body")).to_contain_text('"age": 36')
    tab.get_by_role("tab", name="Calls").click()
    expect(tab.locator("#verdict-body")).to_contain_text("calls no tools")
    tab.get_by_role("tab", name="JSON").click()
    expect(tab.locator("#verdict-body")).to_contain_text('"refused"')
    tab.get_by_role("tab", name="As prompt").click()
    expect(tab.locator("#contract-body")).to_contain_text("engineer")
    assert axe(tab) == []
    for part in ("reply=original", "show=json", "contract=prompt"):
        expect(tab).to_have_url(re.compile(part))
    tab.get_by_role("tab", name="Examples 1").click()
    tab.locator("#contract-body button").filter(has_text="example 1").click()
    expect(tab.locator("#try-reply .cm-line")).to_have_text("{}")
    tab.get_by_role("tab", name="Findings").click()
    expect(tab.locator("#try-verdict .fact").first).to_contain_text("V00")
    expect(tab.locator(".told pre")).to_contain_text("not valid")
    tab.reload()  # the tabs are in the URL
    expect(tab.get_by_role("tab", name="Original")).to_have_attribute("aria-selected", "true")


def test_a_contract_is_linted_completed_and_explained_as_it_is_typed(served: Any, look: Any) -> None:
    tab = look(served(), shared())
    expect(headline(tab)).to_have_text("Refused")
    type_over(tab, "#try-contract", "schema: {type: objekt}\n")
    expect(headline(tab)).to_have_text("Not judged")
    expect(tab.locator("#try-contract .cm-lintRange-error")).not_to_have_count(0)
    expect(tab.locator("#try-contract .foot")).to_contain_text("1 error")
    tab.locator("#try-verdict .fact .choose").first.click()
    expect(tab.locator("#try-contract .cm-content")).to_be_focused()
    assert axe(tab) == []
    type_over(tab, "#try-contract", "sch")
    tab.keyboard.press("Control+Space")
    expect(tab.locator(".cm-tooltip-autocomplete")).to_contain_text("schema")
    tab.wait_for_timeout(100)  # the editor ignores a key in the first moment of a popup
    tab.keyboard.press("Enter")
    expect(tab.locator("#try-contract .cm-content")).to_contain_text("schema:")
    type_over(tab, "#try-contract", "schema:")
    for line in ("properties:", "age: {type: integer}", "name: {type: string}"):  # each is where it belongs
        tab.keyboard.press("Enter")
        tab.keyboard.insert_text(line)
    lines = tab.locator("#try-contract .cm-line").all_text_contents()
    assert lines == ["schema:", "  properties:", "    age: {type: integer}", "    name: {type: string}"]
    type_over(tab, "#try-contract", "schema: true\n")
    expect(headline(tab)).to_have_text("Accepted")
    tab.locator("#try-contract .tok-key").first.hover()
    expect(tab.locator(".cm-tooltip .hover")).to_be_visible()


def test_contract_files_are_opened_and_saved_by_editors_only(served: Any, look: Any, tmp_path: Path) -> None:
    folder = tmp_path / "contracts"
    folder.mkdir()
    file = folder / "person.yaml"
    file.write_text(CONTRACT + "# a comment\n")
    desk = served(folders=(folder,))
    tab = look(desk, "/try?file=contracts/person.yaml", fails=("/contracts/file",))
    aside = tab.locator("#try-contract .aside")
    expect(aside).to_contain_text("saved")
    expect(tab.locator("#try-contract .cm-content")).to_contain_text("# a comment")
    tab.locator("#try-contract .cm-content").click()
    tab.keyboard.press("Control+End")
    tab.keyboard.insert_text("# more\n")
    expect(aside).to_contain_text("unsaved")
    tab.keyboard.press("Control+s")
    message(tab, "Saved contracts/person.yaml.")
    assert file.read_text() == CONTRACT + "# a comment\n# more\n"
    expect(tab.get_by_role("button", name="Save")).to_have_count(0)
    # somebody else has written to it in the meantime: nothing is lost
    tab.keyboard.insert_text("# mine\n")
    file.write_text(CONTRACT + "# theirs\n")
    tab.get_by_role("button", name="Save").click()
    expect(tab.get_by_role("dialog")).to_contain_text("theirs")
    assert axe(tab) == []
    assert file.read_text() == CONTRACT + "# theirs\n"
    tab.get_by_role("dialog").get_by_role("button", name="Load theirs").click()
    expect(tab.locator("#try-contract .cm-content")).to_contain_text("# theirs")
    reader = look(served(role="reader", folders=(folder,)), "/try?file=contracts/person.yaml")
    expect(reader.locator("#try-contract .cm-content")).to_contain_text("# theirs")
    reader.locator("#try-contract .cm-content").click()
    reader.keyboard.insert_text("# x\n")
    expect(reader.locator("#try-contract .aside")).to_contain_text("unsaved")
    expect(reader.get_by_role("button", name="Save")).to_have_count(0)
    reader.keyboard.press("Control+s")
    message(reader, "Your key cannot save contracts.")


def test_a_link_contains_reply_contract_and_state(served: Any, look: Any) -> None:
    desk = served()
    salon = (Path(__file__).parents[2] / "examples" / "contracts" / "salon.yaml").read_text()
    tab = look(desk, shared("Tu cita ha sido confirmada. 😀\r\n\ud83d", salon, state="SLOT_SELECTION"))
    expect(headline(tab)).to_have_text("Refused")
    expect(tab.get_by_label("State")).to_have_value("SLOT_SELECTION")
    tab.get_by_label("State").select_option("IDLE")
    expect(headline(tab)).to_have_text("Accepted")
    tab.get_by_label("Context").fill('{"data": ')
    expect(tab.locator("#try-context-fault")).to_contain_text("not JSON")
    tab.get_by_label("Context").fill('{"data": {"a": 1}}')
    expect(headline(tab)).to_have_text("Accepted")
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.locator("#try-verdict h2").click()
    tab.keyboard.press("s")
    message(tab, "Copied a link")
    link = tab.evaluate("navigator.clipboard.readText()")
    expect(tab).to_have_url(link)
    assert "#1." in link
    again = look(desk, link.removeprefix(desk.url))
    expect(again.get_by_label("State")).to_have_value("IDLE")
    expect(again.get_by_label("Context")).to_have_value('{"data": {"a": 1}}')
    expect(headline(again)).to_have_text("Accepted")
    assert again.locator("#try-reply .cm-line").first.text_content() == "Tu cita ha sido confirmada. 😀\r"


@pytest.mark.spec("X21")
def test_damaged_and_hostile_links_give_a_message_and_an_example(served: Any, look: Any) -> None:
    import base64
    import zlib

    def raw(body: bytes) -> str:
        squeezed = zlib.compressobj(9, zlib.DEFLATED, -15)
        return "1." + base64.urlsafe_b64encode(squeezed.compress(body) + squeezed.flush()).decode().rstrip("=")

    bomb = raw(b'{"r": "' + b"a" * 25_000_000 + b'"}')
    desk = served()
    tab = look(desk, "/try#1.@@")
    message(tab, "This link is damaged")
    expect(headline(tab)).to_have_text("Refused")
    for fragment, said in [
        ("1.AAAA", "damaged"), (raw(b"[1]"), "damaged"), (raw(b'{"r": {"a": 1}}'), "damaged"), (raw(b'{"r": "\xff"}'), "damaged"),
        (packed(reply=REPLY, contract=CONTRACT)[:-9], "damaged"), (bomb, "more text than the page accepts"), ("<img src=x>", "damaged"),
    ]:  # fmt: skip
        tab.reload()  # without the previous page's messages
        tab.goto(f"{desk.url}/try#{fragment}")
        message(tab, said)
        expect(headline(tab)).to_have_text("Refused")
    type_over(tab, "#try-reply", random.Random(1).randbytes(60_000).hex())
    expect(headline(tab)).to_be_visible()
    tab.get_by_role("button", name="Share").click()
    message(tab, "too much text for a link")


def test_a_replay_shows_the_value_as_it_grows(served: Any, look: Any) -> None:
    tab = look(served(), shared('{"name": "Ada", "role": "poet", "age": 36}'))
    expect(headline(tab)).to_have_text("Refused")
    slider = tab.get_by_role("slider")
    expect(slider).to_have_attribute("aria-valuetext", "42 of 42 characters")
    slider.focus()
    tab.keyboard.press("Home")
    expect(headline(tab)).to_have_text("Arriving")
    expect(tab.locator(".stream")).to_contain_text("0 / 42")
    slider.fill("13")
    expect(tab.locator("#try-verdict .cm-content")).to_contain_text('"Ada"')
    dimmed = tab.locator("#try-reply .later").evaluate_all("(found) => found.map((each) => each.textContent).join('')")
    assert dimmed == '", "role": "poet", "age": 36}'
    tab.keyboard.press("]")
    expect(tab.locator(".stream")).not_to_contain_text("13 / 42")
    slider.fill("38")
    expect(tab.locator("#try-verdict .early")).to_contain_text("V005")  # known before the end
    assert axe(tab) == []
    tab.keyboard.press("End")
    expect(headline(tab)).to_have_text("Refused")
    expect(tab.locator("#try-reply .later")).to_have_count(0)
    tab.keyboard.press("[")
    expect(headline(tab)).to_have_text("Arriving")
    type_over(tab, "#try-reply", '{"name": "Bo", "age": 3, "role": "writer"}')
    expect(headline(tab)).to_have_text("Accepted")


@pytest.mark.spec("X21", "X22")
def test_hostile_text_stays_text_everywhere(served: Any, look: Any) -> None:
    hostile = CONTRACT.replace("name: person", "name: '<img src=x onerror=alert(6)>'")
    tab = look(served(), shared(HOSTILE, hostile))
    tab.on("dialog", lambda dialog: pytest.fail(dialog.message))
    expect(headline(tab)).to_have_text("Refused")
    assert tab.locator("#try-reply .cm-line").text_content() == HOSTILE
    for name in ["Diff", "Original", "As prompt", "Examples", "Value", "JSON", "Findings", "Marked"]:
        tab.get_by_role("tab", name=name).click()
        inert = "document.querySelectorAll('main img:not(.cm-widgetBuffer), main script, main svg[onload], main a[href^=javascript]').length"
        assert tab.evaluate(inert) == 0
    tab.locator("#try-reply .mark").first.hover()
    tab.locator("#try-verdict .fact .choose").first.click()


def test_a_providers_response_is_read_and_marked_in_its_text(served: Any, look: Any) -> None:
    body = {"id": "x", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": REPLY}}]}  # fmt: skip
    tab = look(served(), shared(json.dumps(body)))
    expect(tab.locator("#try-reply .remark")).to_contain_text("openai")
    expect(tab.locator("#try-reply .cm-line")).to_have_text(REPLY)
    expect(tab.locator("#try-reply .mark.error")).to_have_text('"poet"')
    tab.get_by_role("slider").fill("20")  # of the text that the model wrote
    expect(tab.locator("#try-reply .later").first).to_be_visible()
    tab.get_by_role("tab", name="Original").click()
    expect(tab.locator("#try-reply .cm-line")).to_have_text(json.dumps(body))
    expect(tab.locator("#try-reply .later")).to_have_count(0)
    assert axe(tab) == []


def test_files_are_dropped_and_huge_texts_refused_before_they_freeze_the_page(served: Any, look: Any) -> None:
    tab = look(served(), shared())
    expect(headline(tab)).to_have_text("Refused")
    tab.evaluate(DROP, ["#try-reply", "reply.txt", '{"name": "Ada", "age": 36, "role": "writer"}\r\n', 1])
    message(tab, "Opened reply.txt.")
    expect(headline(tab)).to_have_text("Accepted")
    expect(tab.locator("#try-reply .foot")).to_contain_text("46 characters")
    tab.evaluate(DROP, ["#try-contract", "any.yaml", "schema: {type: integer}\n", 1])
    expect(headline(tab)).to_have_text("Refused")
    tab.evaluate(DROP, ["#try-reply", "huge.bin", "x" * 1000, 10_001])
    message(tab, "huge.bin has 10.0 MB")
    tab.evaluate(PASTE, ["#try-reply", "x" * 1000, 100_000])
    message(tab, "That is 100.0 MB")
    expect(tab.locator("#try-reply .foot")).to_contain_text("46 characters")
    # a megabyte stays usable: few nodes, and keys still arrive
    type_over(tab, "#try-contract", "schema: true\n")
    expect(headline(tab)).to_have_text("Accepted")
    tab.locator("#try-reply .cm-content").click()
    tab.keyboard.press("Control+a")
    tab.evaluate(PASTE, ["#try-reply", '{"k": ["a", "b",]}, ', 50_000])
    expect(tab.locator("#try-reply .foot")).to_contain_text("1,000,000 characters")
    tab.keyboard.press("Control+Home")
    tab.keyboard.insert_text("[")
    expect(tab.locator("#try-reply .foot")).to_contain_text("1,000,001 characters")
    tab.wait_for_selector("[data-judged]")
    expect(tab.locator("#try-reply .mark").first).to_be_visible()
    assert tab.evaluate("document.querySelectorAll('*').length") < 2_000


def test_an_old_verdict_is_never_shown_as_current(served: Any, look: Any) -> None:
    tab = look(served(), shared(), fails=("/api/judge",))
    expect(headline(tab)).to_have_text("Refused")
    held: list[Any] = []
    tab.route("**/api/judge", lambda route: held.append(route))
    type_over(tab, "#try-reply", '{"name": "Ada", "age": 36, "role": "writer"}')
    expect(tab.locator("#try-verdict h2")).to_contain_text("judging…")
    expect(tab.locator("[data-judged]")).to_have_count(0)
    type_over(tab, "#try-reply", "nothing")
    tab.unroute("**/api/judge")
    for route in held:  # they are late and cancelled: their answers must not appear
        with contextlib.suppress(Exception):
            route.abort()
    expect(headline(tab)).to_have_text("Refused")
    type_over(tab, "#try-reply", '{"name": "Ada", "age": 36, "role": "writer"}')
    expect(headline(tab)).to_have_text("Accepted")
    expect(tab.locator("#try-verdict h2")).to_contain_text("judged in")
    # a stopped server is reported, and the page recovers
    tab.route("**/api/judge", lambda route: route.abort())
    type_over(tab, "#try-reply", "x")
    expect(tab.locator("#try-verdict [role=alert]")).to_contain_text("does not respond")
    tab.unroute("**/api/judge")
    tab.keyboard.press("Control+Enter")
    expect(headline(tab)).to_have_text("Refused")


@pytest.mark.parametrize(("width", "dark"), [(400, False), (1440, True)])
def test_try_fits_every_window_in_light_and_dark(served: Any, look: Any, width: int, *, dark: bool) -> None:
    tab = look(served(), "/try?example=german", width=width, dark=dark)
    expect(headline(tab)).to_be_visible()
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if width == 400:
        tab.get_by_role("navigation", name="Panels").get_by_role("button").last.click()
        box = tab.locator("#try-verdict").bounding_box()
        assert box is not None
        assert 0 <= box["y"] < 600
        # the slider stays within reach, and its value stays in view
        tab.get_by_role("slider").fill("50")
        expect(headline(tab)).to_have_text("Arriving")
        places = [tab.locator(name).bounding_box() for name in (".jumps-bar", "#try-verdict .headline", ".stream")]
        assert all(places)
        assert places[0]["y"] < places[1]["y"] < places[2]["y"] <= 900 - places[2]["height"] + 1
        tab.locator("#stream").press("End")
    tab.get_by_role("tab", name="Diff").click()
    tab.get_by_role("tab", name="Value").click()
    expect(tab.locator("#try-verdict .cm-content")).to_be_visible()
    assert axe(tab) == []


def test_a_reload_loses_nothing_that_was_typed_or_opened(served: Any, look: Any, tmp_path: Path) -> None:
    (tmp_path / "person.yaml").write_text(CONTRACT)
    name = f"{tmp_path.name}/person.yaml"
    reply, contract = '{"name": "Bo", "age": 3, "role": "writer"}', "schema: {type: integer}\n"
    tab = look(served(folders=(tmp_path,)), "/try?example=german")
    lines = {place: tab.locator(f"#try-{place} .cm-content") for place in ("reply", "contract")}
    expect(headline(tab)).to_have_text("Accepted")
    # a tab that is chosen later changes the URL, and not what is shown
    type_over(tab, "#try-reply", reply)
    tab.get_by_role("tab", name="Value").click()
    tab.reload()
    expect(lines["reply"]).to_have_text(reply)
    # the reply stays beside a contract from a file, which is read again
    tab.get_by_label("Contract file").select_option(name)
    expect(lines["contract"]).to_contain_text("name: person")
    (tmp_path / "person.yaml").write_text(CONTRACT + "# newer\n")
    tab.reload()
    expect(lines["contract"]).to_contain_text("# newer")
    expect(lines["reply"]).to_have_text(reply)
    # a contract from the disk is in no URL
    tab.evaluate(DROP, ["#try-contract", "any.yaml", contract, 1])
    expect(lines["contract"]).to_contain_text("integer")
    expect(tab).not_to_have_url(re.compile("file="))
    tab.reload()
    expect(lines["contract"]).to_have_text(contract.strip())
    expect(lines["reply"]).to_have_text(reply)
    # edits after sharing are not in the link
    tab.get_by_role("button", name="Share").click()
    tab.wait_for_function("() => location.hash")
    tab.get_by_role("button", name="Close").or_(tab.locator(".messages p")).first.click()
    type_over(tab, "#try-reply", "[1]")
    tab.wait_for_function("() => !location.hash")
    tab.reload()
    expect(lines["reply"]).to_have_text("[1]")


def test_a_slow_answer_does_not_replace_newer_content(served: Any, look: Any, tmp_path: Path) -> None:
    (tmp_path / "person.yaml").write_text(CONTRACT)
    desk = served(folders=(tmp_path,))
    tab = look(desk, "/runs")
    held = Held(tab, "**/api/samples", "GET")
    tab.get_by_role("link", name="Try", exact=True).click()
    held.wait(tab)
    tab.evaluate("(hash) => (location.hash = hash)", packed(reply="[7]", contract="schema: true\n"))
    line = tab.locator("#try-reply .cm-content")
    expect(line).to_have_text("[7]")
    with tab.expect_response("**/api/samples"):
        held.release()
    expect(tab.get_by_label("Example").locator("option")).not_to_have_count(1)
    expect(line).to_have_text("[7]")
    # the same for a file
    held = Held(tab, "**/api/contracts/file*", "GET")
    tab.get_by_label("Contract file").select_option(f"{tmp_path.name}/person.yaml")
    held.wait(tab)
    tab.go_back()
    expect(headline(tab)).to_have_text("Accepted")
    with tab.expect_response("**/api/contracts/file*"):
        held.release()
    type_over(tab, "#try-reply", "[8]")
    expect(headline(tab)).to_have_text("Accepted")
    expect(tab.locator("#try-contract .cm-content")).to_have_text("schema: true")


def test_another_file_can_be_opened_during_saving(served: Any, look: Any, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(f"name: {name}\nschema: true\n")
    tab = look(served(folders=(tmp_path,)), f"/try?file={tmp_path.name}/one.yaml")
    content = tab.locator("#try-contract .cm-content")
    expect(content).to_contain_text("name: one")
    type_over(tab, "#try-contract", "name: first\nschema: true\n")
    held = Held(tab, "**/api/contracts/file*", "PUT")
    tab.keyboard.press("Control+s")
    held.wait(tab)
    tab.get_by_label("Contract file").select_option(f"{tmp_path.name}/two.yaml")
    expect(content).to_contain_text("name: two")
    held.release()
    message(tab, f"Saved {tmp_path.name}/one.yaml.")
    assert (tmp_path / "one.yaml").read_text() == "name: first\nschema: true\n"
    expect(content).to_contain_text("name: two")
    tab.get_by_label("Contract file").select_option(f"{tmp_path.name}/one.yaml")
    expect(content).to_contain_text("name: first")
    expect(tab.locator("#try-contract .aside")).not_to_contain_text("unsaved")


def test_nothing_can_be_typed_that_would_be_replaced(served: Any, look: Any, tmp_path: Path) -> None:
    (tmp_path / "person.yaml").write_text(CONTRACT)
    tab = look(served(folders=(tmp_path,)), "/runs")
    held = Held(tab, "**/api/contracts/file*", "GET")
    tab.evaluate("(file) => history.replaceState(null, '', `/try?file=${file}`)", f"{tmp_path.name}/person.yaml")
    tab.evaluate("dispatchEvent(new PopStateEvent('popstate'))")
    held.wait(tab)
    content = tab.locator("#try-contract .cm-content")
    expect(content).to_contain_text("name: profile")
    before = content.text_content()
    type_over(tab, "#try-contract", "lost: yes\n")
    tab.evaluate(DROP, ["#try-reply", "any.txt", "[9]", 1])
    message(tab, "Opened any.txt.")
    assert content.text_content() == before
    expect(tab.locator("#try-contract .editor")).to_have_attribute("aria-busy", "true")
    assert axe(tab) == []
    held.release()
    expect(content).to_contain_text("name: person")
    expect(tab.locator("#try-reply .cm-content")).to_have_text("[9]")
    type_over(tab, "#try-contract", "schema: true\n")
    expect(content).to_have_text("schema: true")
    tab.locator("#try-contract .cm-content").press("Tab")
    expect(content).to_be_focused()


def test_text_that_was_not_judged_yet_survives_a_reload(served: Any, look: Any) -> None:
    tab = look(served(), "/runs")
    held = Held(tab, "**/api/judge", "POST")
    tab.get_by_role("link", name="Try", exact=True).click()
    held.wait(tab)
    type_over(tab, "#try-reply", "[7]")
    tab.reload()
    expect(tab.locator("#try-reply .cm-content")).to_have_text("[7]")
    held.release()
    expect(headline(tab)).to_have_text("Refused")


def test_saving_keeps_the_state_and_the_context(served: Any, look: Any, tmp_path: Path) -> None:
    salon = (Path(__file__).parents[2] / "examples" / "contracts" / "salon.yaml").read_text()
    (tmp_path / "salon.yaml").write_text(salon)
    tab = look(served(folders=(tmp_path,)), f"/try?file={tmp_path.name}/salon.yaml")
    tab.get_by_label("State").select_option("SLOT_SELECTION")
    tab.get_by_label("Context").fill('{"data": {"a": 1}}')
    tab.locator("#try-contract .cm-content").click()
    tab.keyboard.press("Control+End")
    tab.keyboard.insert_text("# more\n")
    tab.keyboard.press("Control+s")
    message(tab, "Saved")
    expect(tab.locator("#try-contract .aside")).to_contain_text("saved")
    expect(tab.get_by_label("State")).to_have_value("SLOT_SELECTION")
    expect(tab.get_by_label("Context")).to_have_value('{"data": {"a": 1}}')


def test_undo_survives_opening_another_tab_or_view(served: Any, look: Any) -> None:
    tab = look(served(), shared())
    expect(headline(tab)).to_have_text("Refused")
    for place, other, own in [("contract", "As prompt", "YAML"), ("reply", "Diff", "Marked")]:
        content = tab.locator(f"#try-{place} .cm-content")
        before = content.text_content()
        content.click()
        tab.keyboard.press("Control+End")
        tab.keyboard.insert_text("# more")
        expect(content).to_contain_text("# more")
        tab.get_by_role("tab", name=other).click()
        expect(content).to_have_count(0)
        tab.get_by_role("tab", name=own).click()
        tab.locator("body").press("3")
        expect(content).to_have_count(0)
        tab.locator("body").press("1")
        expect(content).to_contain_text("# more")
        content.click()
        tab.keyboard.press("Control+z")
        expect(content).not_to_contain_text("# more")
        assert content.text_content() == before
    # a text that was replaced by an example comes back
    type_over(tab, "#try-reply", "mine")
    tab.get_by_label("Example").select_option("german")
    expect(content).to_contain_text("Gerne")
    content.click()
    tab.keyboard.press("Control+z")
    expect(content).to_have_text("mine")


def test_a_context_can_be_given_to_a_contract_that_needs_it(served: Any, look: Any) -> None:
    asks = "schema: {properties: {hp: {type: integer}}}\nrules: [hp <= max_hp]\ninput: [max_hp]\n"
    tab = look(served(), shared('{"hp": 12}', asks))
    tab.get_by_label("Context").fill('{"input": {"max_hp": 10}}')
    expect(headline(tab)).to_have_text("Refused")
    tab.get_by_label("Context").fill('{"input": {"max_hp": 20}}')
    expect(headline(tab)).to_have_text("Accepted")
    start = "states: {start: ASK, ASK: {next: [DONE]}, DONE: {}}\n"
    other = look(served(), shared("Which day?", start))
    expect(other.get_by_label("State").locator("option:checked")).to_have_text("ASK (start)")


def test_a_replay_advances_by_whole_characters(served: Any, look: Any) -> None:
    tab = look(served(), shared('{"a": "x😀y"}', "schema: true\n"))
    expect(headline(tab)).to_have_text("Accepted")
    slider = tab.get_by_role("slider")
    later = "(found) => found.map((each) => each.textContent).join('')"
    slider.fill("8")
    expect(tab.locator("#try-verdict .cm-content")).to_contain_text('"x"')
    tab.keyboard.press("Tab")
    slider.focus()
    tab.keyboard.press("ArrowRight")
    expect(tab.locator(".stream")).to_contain_text("10 / 13")
    expect(tab.locator("#try-verdict .cm-content")).to_contain_text('"x😀"')
    assert tab.locator("#try-reply .later").evaluate_all(later) == 'y"}'
    tab.keyboard.press("ArrowLeft")
    expect(tab.locator(".stream")).to_contain_text("8 / 13")


def test_files_that_are_not_utf8_are_read_or_refused_with_a_message(served: Any, look: Any) -> None:
    drop = """([place, bytes, name]) => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(bytes)], name));
      const event = new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true});
      document.querySelector(place).dispatchEvent(event);
      return event.defaultPrevented;
    }"""
    tab = look(served(), shared(contract="schema: true\n"))
    content = tab.locator("#try-reply .cm-content")
    for name, data, text in [
        ("little", "\ufeff[1]".encode("utf-16-le"), "[1]"),
        ("big", "\ufeff[2]".encode("utf-16-be"), "[2]"),
    ]:
        tab.evaluate(drop, ["#try-reply", list(data), name])
        message(tab, f"Opened {name}.")
        expect(content).to_have_text(text)
    tab.evaluate(drop, ["#try-reply", list(b'"caf\xe9"'), "latin.txt"])
    message(tab, "latin.txt is not all UTF-8 text")
    expect(content).to_have_text('"caf\ufffd"')
    # elsewhere on the page, a file is ignored: by default, the browser would replace the page with it
    assert tab.evaluate(drop, ["#try-verdict", [1], "x"])
    assert tab.evaluate(drop, [".bar", [1], "x"])
    # as a folder does
    tab.evaluate("() => { Blob.prototype.arrayBuffer = () => Promise.reject(new DOMException('no file')); }")
    tab.evaluate(drop, ["#try-reply", [1], "folder"])
    message(tab, "folder cannot be read")
    expect(content).to_have_text('"caf\ufffd"')


def test_the_text_of_a_response_stays_during_typing_of_the_contract(served: Any, look: Any) -> None:
    body = {"object": "chat.completion", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": REPLY}}]}  # fmt: skip
    tab = look(served(), shared(json.dumps(body)), fails=("/api/judge",))
    expect(tab.locator("#try-reply .remark")).to_contain_text("openai")
    tab.route("**/api/judge", lambda route: None)
    tab.locator("#try-contract .cm-content").click()
    tab.keyboard.press("Control+End")
    tab.keyboard.insert_text("# more")
    expect(tab.locator("#try-verdict h2")).to_contain_text("judging…")
    expect(tab.locator("#try-reply .cm-line")).to_have_text(REPLY)
    expect(tab.locator("#try-reply .remark")).to_have_count(1)
    tab.unroute("**/api/judge")
    # a text that only looks like a response can be judged as text, and the link keeps that
    tab.get_by_role("button", name="Judge it as text").click()
    expect(tab.locator("#try-reply .remark")).to_contain_text("Judged as text")
    expect(tab.locator("#try-reply .cm-line")).to_have_text(json.dumps(body))
    tab.locator("body").press("s")
    tab.wait_for_function("() => location.hash")
    tab.goto(f"{tab.url}")
    tab.reload()
    expect(tab.locator("#try-reply .remark")).to_contain_text("Judged as text")
    tab.get_by_role("button", name="Read it as a response").click()
    expect(tab.locator("#try-reply .cm-line")).to_have_text(REPLY)


def test_judging_continues_after_a_restart_and_an_ended_session_can_be_renewed(served: Any, look: Any) -> None:
    desk = served()
    tab = look(desk, shared(), fails=("/api/",))
    expect(headline(tab)).to_have_text("Refused")
    tab.route("**/api/judge", lambda route: route.abort())
    type_over(tab, "#try-reply", '{"name": "Ada", "age": 36, "role": "writer"}')
    expect(tab.locator("#try-verdict [role=alert]")).to_contain_text("does not respond")
    tab.unroute("**/api/judge")
    expect(headline(tab)).to_have_text("Accepted")  # without a key or a click
    tab.context.clear_cookies()
    type_over(tab, "#try-reply", "[]")
    tab.locator("#try-verdict").get_by_role("link", name="Sign in").click()
    tab.get_by_label("Key").fill(SECRETS["editor"])
    tab.get_by_role("button", name="Open").click()
    expect(tab.locator("#try-reply .cm-content")).to_have_text("[]")
    expect(headline(tab)).to_have_text("Refused")


def test_a_fault_in_an_extended_file_leads_to_that_file(served: Any, look: Any, tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("# the base\n\n\nschema: {type: objekt}\n")
    (tmp_path / "own.yaml").write_text("extends: base.yaml\nname: own\n")
    tab = look(served(folders=(tmp_path,)), f"/try?file={tmp_path.name}/own.yaml")
    live = tab.locator("#try-verdict [aria-live]")
    expect(live).to_contain_text("Not judged")
    marked = live.evaluate("(each) => { each.dataset.same = 'yes'; return each.dataset.same; }")
    tab.locator("#try-verdict .fact .choose").first.click()
    expect(tab.locator("#try-contract .cm-content")).to_contain_text("# the base")
    expect(tab).to_have_url(re.compile("base.yaml"))
    type_over(tab, "#try-contract", "schema: true\n")
    expect(headline(tab)).to_be_visible()
    expect(live).to_have_attribute("data-same", marked)  # a new verdict is announced: its live region existed before
