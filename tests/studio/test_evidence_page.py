"""The source beside the value, in a real browser: from a value to its places and back, by mouse and by keys, for any
source.
"""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from tests.studio.conftest import axe
from tests.studio.driving import expect
from tests.studio.test_marks import PIECES, packed
from tests.studio.test_try import DROP, PASTE, headline, type_over
from trueup.contract.contract import Contract
from trueup.store.open import open_store

pytestmark = [pytest.mark.needs("browser")]

CONTRACT = """name: invoice
schema:
  type: object
  properties: {number: {type: string}, date: {type: string, format: date}, days: {type: integer}, total: {type: number}, paid: {type: boolean}}
grounded: true
"""
INVOICE = """<b>INVOICE</b> No. 2024-118 😀        Date: 5 March 2024
Northwind Tools Ltd, 14 Harbour Road, Leeds

Total: GBP 1,178.00, payable within thirty days.
"""
REPLY = '{"number": "2024-118", "date": "2024-03-05", "days": 30, "total": 1187, "paid": false}'
DOCUMENTS = {"<img src=x onerror=alert(1)>": "Nothing of use. 1187 \u202eabc", "invoice": INVOICE}


def shared(
    source: str = INVOICE, reply: str = REPLY, contract: str = CONTRACT, show: str = "evidence", **more: str
) -> str:
    given = {"source": source} if source else {}
    return f"/try?show={show}#{packed(reply=reply, contract=contract, **given, **more)}"


def odd(rng: random.Random) -> str:
    return "".join(rng.choice(PIECES) for _ in range(rng.randrange(25)))


def row(tab: Any, text: str) -> Any:
    return tab.locator(".value", has_text=text)


def chosen(tab: Any, place: str = "#try-source") -> Any:
    return tab.locator(f"{place} .mark.chosen")


def test_a_pasted_source_is_looked_up_during_typing(served: Any, look: Any) -> None:
    tab = look(served(), shared(source="", show=""))
    expect(headline(tab)).to_have_text("Refused")
    expect(tab.locator("#try-verdict .fact")).to_contain_text("E007")
    expect(tab.get_by_role("tab", name="Evidence")).to_have_count(0)
    tab.locator("#try-source .cm-content").click()
    tab.keyboard.insert_text(INVOICE)
    expect(tab.locator("#try-verdict .fact")).to_contain_text("the nearest there is 'GBP 1,178.00'")
    expect(tab.locator("#try-source .mark.error")).to_have_text("GBP 1,178.00")
    # a corrected source corrects the verdict
    type_over(tab, "#try-source", INVOICE.replace("1,178.00", "1,187.00"))
    expect(headline(tab)).to_have_text("Accepted")
    # the draft keeps it after a reload
    tab.wait_for_function("() => sessionStorage.getItem('trueup-try')?.includes('1,187.00')")
    tab.reload()
    expect(headline(tab)).to_have_text("Accepted")
    expect(tab.locator("#try-source .cm-content")).to_contain_text("1,187.00")
    # a link has it too
    tab.locator("#try-verdict h2").click()
    tab.keyboard.press("s")
    expect(tab).to_have_url(re.compile("#1"))
    link = tab.url
    tab.evaluate("sessionStorage.clear()")
    tab.goto("about:blank")
    tab.goto(link)
    expect(headline(tab)).to_have_text("Accepted")
    expect(tab.locator("#try-source .cm-content")).to_contain_text("1,187.00")
    # a file is a source
    tab.evaluate(DROP, ["#try-source", "other.txt", "Nothing. ", 3])
    expect(tab.locator("#try-source h2")).to_contain_text("27 characters")
    expect(headline(tab)).to_have_text("Refused")


def test_a_value_leads_to_its_position_and_a_position_to_its_value(served: Any, look: Any) -> None:
    tab = look(served(), shared())
    expect(tab.locator(".value .tag")).to_have_text(["exact", "normalized", "normalized", "none", "not checkable"])
    row(tab, "date").locator(".choose").click()
    expect(chosen(tab)).to_have_text("5 March 2024")
    expect(chosen(tab, "#try-reply")).to_have_text('"2024-03-05"')
    # without evidence: the finding, and the nearest place
    expect(row(tab, "total")).to_contain_text("E001")
    row(tab, "total").locator(".choose").click()
    expect(chosen(tab)).to_have_text("GBP 1,178.00")
    expect(chosen(tab, "#try-reply")).to_have_text("1187")
    # from a place to its value, from another tab too
    tab.get_by_role("tab", name="Findings").click()
    tab.locator("#try-source .mark", has_text="thirty").click()
    expect(row(tab, "days")).to_have_attribute("aria-current", "true")
    expect(chosen(tab)).to_have_text("thirty days")
    # a finding chooses the nearest place as well
    tab.get_by_role("tab", name="Findings").click()
    tab.locator("#try-verdict .fact .choose").first.click()
    expect(chosen(tab)).to_have_text("GBP 1,178.00")


def test_evidence_can_be_browsed_by_keyboard_alone(served: Any, look: Any) -> None:
    tab = look(served(), shared())
    expect(tab.locator(".value")).to_have_count(5)
    first = row(tab, "number").locator(".choose")
    first.focus()
    tab.keyboard.press("Enter")
    expect(chosen(tab)).to_have_text("2024-118")
    tab.keyboard.press("ArrowDown")
    expect(chosen(tab)).to_have_text("5 March 2024")
    expect(row(tab, "date").locator(".choose")).to_be_focused()
    tab.keyboard.press("ArrowUp")
    expect(chosen(tab)).to_have_text("2024-118")
    row(tab, "days").locator(".choose").focus()
    tab.keyboard.press(" ")
    expect(chosen(tab)).to_have_text("thirty days")
    tab.keyboard.press("j")
    expect(chosen(tab)).to_have_text("GBP 1,178.00")
    tab.keyboard.press("k")
    tab.keyboard.press("k")
    expect(chosen(tab)).to_have_text("5 March 2024")
    # in the source, F8 goes from place to place, and the value comes along
    tab.locator("#try-source .cm-content").focus()
    tab.keyboard.press("F8")
    expect(row(tab, "number")).to_have_attribute("aria-current", "true")
    tab.keyboard.press("F8")
    expect(row(tab, "date")).to_have_attribute("aria-current", "true")
    tab.keyboard.press("Shift+F8")
    expect(row(tab, "number")).to_have_attribute("aria-current", "true")
    expect(tab.locator("#hints, .cm-tooltip").last).to_contain_text("exact")


def test_documents_are_shown_by_their_names(served: Any, look: Any) -> None:
    tab = look(served(), shared(source="", context=json.dumps({"source": DOCUMENTS})))
    names = tab.get_by_label("Document")
    expect(names.locator("option")).to_have_text(list(DOCUMENTS))
    expect(tab.locator("#try-source h2")).to_contain_text("from the context")
    row(tab, "date").locator(".choose").click()
    expect(names).to_have_value("1")
    expect(chosen(tab)).to_have_text("5 March 2024")
    row(tab, "total").locator(".choose").click()
    expect(names).to_have_value("0")
    expect(chosen(tab)).to_have_text("1187")
    expect(row(tab, "total")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(tab.locator("#try-source .odd[data-name=RLO]")).to_have_count(1)
    names.select_option("1")
    expect(tab.locator("#try-source .cm-content")).to_contain_text("<b>INVOICE</b>")
    # the user's own text takes precedence over them
    tab.evaluate(DROP, ["#try-source", "own.txt", "Only 1187. ", 1])
    expect(tab.locator("#try-source h2")).to_contain_text("11 characters")
    expect(names).to_have_count(0)
    assert axe(tab) == []


def test_marks_are_at_the_right_position_in_any_source(served: Any, look: Any) -> None:
    desk = served()
    rng = random.Random(11)
    for _ in range(12):
        source = f"{odd(rng)} Ana Ruiz {odd(rng)} 1,234.50 {odd(rng)}"
        source = source.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        tab = look(
            desk,
            shared(
                source=source,
                reply='{"name": "Ana Ruiz", "total": 1234.5}',
                contract="schema: {type: object}\ngrounded: true",
            ),
        )
        expect(tab.locator(".value")).to_have_count(2)
        for name, words in (("name", "Ana Ruiz"), ("total", "1,234.50")):
            if row(tab, name).locator(".tag").inner_text() == "none":
                continue  # with the text around it, it is another word
            row(tab, name).locator(".choose").click()
            expect(chosen(tab).first).to_have_text(words)
        assert tab.locator("#try-source img:not(.cm-widgetBuffer)").count() == 0


def test_a_megabyte_with_thousands_of_values_is_shown(served: Any, look: Any) -> None:
    tab = look(
        served(),
        shared(source="", reply='{"name": "Ana", "age": 41}', contract="schema: {type: object}\ngrounded: true"),
    )
    expect(tab.locator("#try-source .cm-content")).to_be_visible()
    tab.evaluate(PASTE, ["#try-source", "lorem ipsum 😀 dolor\n", 50_000])
    expect(tab.locator("#try-source h2")).to_contain_text("1,050,000 characters")
    expect(headline(tab)).to_have_text("Refused")
    tab.locator("#try-source .cm-content").press("Control+End")
    tab.keyboard.insert_text("Ana is 41.")
    expect(headline(tab)).to_have_text("Accepted")
    tab.locator("#try-source .cm-content").press("Control+Home")
    row(tab, "age").locator(".choose").click()
    expect(chosen(tab)).to_have_text("41")
    expect(chosen(tab)).to_be_in_viewport()
    # of a long source that the page does not hold, there are the stretches around places
    source = "lorem ipsum 😀 dolor\n" * 5_000
    tab = look(
        served(),
        shared(
            source="",
            reply='{"age": 41}',
            contract="schema: {type: object}\ngrounded: true",
            context=json.dumps({"source": {"a": source, "b": source + "Ana is 41. " + source}}),
        ),
    )
    row(tab, "age").locator(".choose").click()
    expect(chosen(tab)).to_have_text("41")
    expect(tab.locator("#try-source .cm-content")).to_contain_text(re.compile(r"… [\d,]+ characters"))
    reply = json.dumps({f"k{n}": f"w{n}" for n in range(1_500)})
    tab = look(
        served(),
        shared(
            source=" ".join(f"w{n}" for n in range(1_500)),
            reply=reply,
            contract="schema: {type: object}\ngrounded: true",
        ),
    )
    expect(tab.locator(".value")).to_have_count(60)
    tab.get_by_role("button", name="Show more").click()
    expect(tab.locator(".value")).to_have_count(260)
    expect(tab.locator("#try-verdict .note").last).to_have_text("500 more values not listed.")


@pytest.mark.parametrize(("width", "dark"), [(400, False), (1440, True)])
def test_it_fits_every_window_in_light_and_dark(served: Any, look: Any, width: int, *, dark: bool) -> None:
    tab = look(served(), shared(), width=width, dark=dark)
    expect(tab.locator(".value")).to_have_count(5)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    row(tab, "date").locator(".choose").click()
    expect(chosen(tab)).to_be_in_viewport()
    tab.locator("#try-source .mark", has_text="thirty").click()
    expect(row(tab, "days")).to_be_in_viewport()
    assert axe(tab) == []


def test_a_contract_without_grounding_has_no_source_panel(served: Any, look: Any) -> None:
    tab = look(served(), shared(contract="schema: {type: object}"))
    expect(headline(tab)).to_have_text("Accepted")
    expect(tab.locator("#try-source")).to_have_count(0)
    expect(tab.locator("#try-verdict .fact")).to_have_count(0)


def stored(path: Path, contract: Contract[Any], context: dict[str, Any], *, keep: bool = True) -> str:
    with open_store(path, keep_context=keep) as store:
        return store.record_verdict(contract.check(REPLY, context), contract=contract, context=context)


def test_a_stored_verdict_shows_the_same_if_its_source_was_stored(served: Any, look: Any, tmp_path: Path) -> None:
    folder = tmp_path / "contracts"
    folder.mkdir()
    (folder / "invoice.yaml").write_text(CONTRACT, "utf-8")
    contract = Contract.load(folder / "invoice.yaml")
    kept = stored(tmp_path / "v.db", contract, {"source": DOCUMENTS})
    gone = stored(tmp_path / "v.db", contract, {"source": INVOICE}, keep=False)
    without = stored(tmp_path / "v.db", contract, {})
    plain = stored(tmp_path / "v.db", contract, {"source": INVOICE, "history": [{"role": "user", "content": "1187"}]})
    desk = served(folders=(folder,), store=str(tmp_path / "v.db"))
    answer = desk.get(f"/verdicts/{kept}")
    assert [source["name"] for source in answer["verdict"]["evidence"]["sources"]] == list(DOCUMENTS)
    assert answer["unsourced"] == ""
    assert desk.get(f"/verdicts/{gone}")["unsourced"].startswith("The source was not stored")
    assert desk.get(f"/verdicts/{without}")["unsourced"] == "", "there was none, as the finding says"
    again = desk.get(f"/verdicts/{plain}/again")
    assert again["source"] == INVOICE
    assert "source" not in json.loads(again["context"])
    assert [each["grade"] for each in again["verdict"]["evidence"]["rows"]][3] == "none"

    tab = look(desk, f"/verdicts/{kept}")
    row(tab, "date").locator(".choose").click()
    expect(tab.get_by_label("Document")).to_have_value("1")
    expect(chosen(tab, ".source")).to_have_text("5 March 2024")
    expect(chosen(tab, ".reply")).to_have_text('"2024-03-05"')
    tab.locator(".source .mark", has_text="thirty").click()
    expect(row(tab, "days")).to_have_attribute("aria-current", "true")
    assert axe(tab) == []
    tab.goto(f"{desk.url}/verdicts/{gone}")
    expect(tab.locator(".verdict .remark").first).to_contain_text("The source was not stored")
    tab.goto(f"{desk.url}/verdicts/{plain}")
    tab.get_by_role("button", name="Open in Try").click()
    expect(tab.locator("#try-source .cm-content")).to_contain_text("Northwind Tools")
    expect(headline(tab)).to_have_text("Refused")


def test_codes_of_evidence_and_of_ready_checks_have_names(served: Any) -> None:
    codes = {row["code"]: row for row in served("reader").get("/codes")["codes"]}
    for code in (*(f"E{n:03}" for n in range(1, 8)), *(f"H{n:03}" for n in range(1, 13))):
        assert all(codes[code][part] for part in ("name", "title", "family")), code
