"""Marks in the page: the text of every mark is the text of its span, for any characters, and nothing else in the reply
changes.
"""

import base64
import json
import random
import zlib
from typing import Any

import pytest

from tests.effort import SOAK

CASES = 3_000 if SOAK else 120
PIECES = [
    "a", "Z", "0", " ", "  ", "\t", "\n", "\n\n", "\r\n", "\r", '"', "'", "{", "}", "[", "]", ":", ",", "```", "é", "e\u0301", "\u0301", "q\u0307\u0323",
    "ß", "中文", "｛", "“", "😀", "👩‍👩‍👧", "👍🏽", "🇩🇪", "❤️", "עברית", "שלום", "العربية", "نص\u200cها", "\u202e", "\u202c", "\u2066", "\u2069", "\u200b",
    "\u200d", "\ufeff", "\u00a0", "\u00ad", "\x00", "\x1b[31m", "\x7f", "\u2028", "\ud83d", "\udc00", "\U000e0041", "<b>", "</script>", "&amp;", "क्षि", "ﷺ",
]  # fmt: skip
KINDS = ["lossless", "guess", "lossy", "error", "warning"]

# Draws each case with the page's own component, and reads back what a person sees: the document, and the text of each mark.
DRAW = """async (cases) => {
  const {Marked, html, render} = await import(document.querySelector("script[src$='/studio.js']").src);
  const place = document.createElement("div");
  Object.assign(place.style, {position: "fixed", inset: "0", zIndex: 9, background: "white", display: "flex", height: "100vh"});
  document.body.append(place);
  const pause = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const answers = [];
  for (const [number, {text, marks, facts}] of cases.entries()) {
    let view;
    render(html`<${Marked} key=${number} label="Reply" readOnly value=${text} drawn=${{text, marks, facts}} onView=${(made) => (view = made ?? view)} />`, place);
    await pause();
    const lines = [...view.contentDOM.querySelectorAll(".cm-line")];
    const found = {};
    lines.forEach((line, at) => {
      for (const mark of line.querySelectorAll("[data-fact]")) {
        const seen = (found[mark.dataset.fact] ??= {first: at, last: at, kind: mark.className, text: ""});
        seen.text += "\\n".repeat(at - seen.last) + mark.textContent;
        seen.last = at;
      }
    });
    answers.push({doc: view.state.doc.toString(), shown: lines.map((line) => line.textContent).join("\\n"), found});
  }
  render(null, place);
  place.remove();
  return JSON.stringify(answers);
}"""


def units(text: str) -> int:
    return sum(2 if ord(letter) > 0xFFFF else 1 for letter in text)


def _case(rng: random.Random) -> dict[str, Any]:
    text = "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 60)))
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")  # two halves in a row are a pair
    spans = []
    for _ in range(rng.randrange(0, 9)):
        start = rng.randrange(len(text) + 1)
        spans.append((start, min(len(text), start + rng.choice([0, 1, 1, 2, 5, 30]))))
    facts = [
        {"kind": "fix" if kind in KINDS[:3] else "finding", "code": "T001", "title": "", "grade": kind, "level": kind, "path": "$", "message": ""}
        for kind in (rng.choice(KINDS) for _ in spans)
    ]  # fmt: skip
    marks = sorted(
        ([units(text[:start]), units(text[:end]), fact] for fact, (start, end) in enumerate(spans)),
        key=lambda mark: (mark[0], -mark[1]),
    )
    return {"text": text, "marks": marks, "facts": facts, "spans": spans}


@pytest.mark.needs("browser")
def test_the_text_of_a_mark_equals_its_span(served: Any, look: Any) -> None:
    rng = random.Random(f"marks {random.random()}" if SOAK else "marks")
    tab = look(served(), "/try", height=1600)
    for start in range(0, CASES, 60):
        cases = [_case(rng) for _ in range(start, min(start + 60, CASES))]
        for case, drawn in zip(cases, json.loads(tab.evaluate(DRAW, cases)), strict=True):
            text = case["text"]
            assert drawn["doc"] == text
            assert drawn["shown"] == text, "what cannot be seen is shown beside the text, not in its place"
            for fact, (first, last) in enumerate(case["spans"]):
                seen = drawn["found"][str(fact)]
                assert seen["text"] == text[first:last].strip("\n"), (text, first, last)
                assert case["facts"][fact]["grade"] in seen["kind"].split()
                assert ("point" in seen["kind"].split()) == (not text[first:last].strip("\n"))


REPLIES = [
    "Sure! 👩‍👩‍👧 Hier:\r\n```json\r\n{'name': 'Zoë 😀', \"age\": \"36\", “role”: “שלום” ,}\r\n```\r\n",
    '{"name": \'e\u0301 \u202eevil\u202c\', // 😀 no\r\n age: ٣٦, "role": "x\ud83d",}',
    '\ufeff\u200b{"name": "\U000e0041a", "age": 1.0, "role": writer, "languages": "Deutsch"',
    "العربية {name: 'نص', age: '7', role: Engineer,} \x1b[31m<img src=x onerror=alert(1)>",
]
CONTRACT = """schema:
  type: object
  properties: {name: {type: string}, age: {type: integer}, role: {enum: [engineer, writer]}, languages: {type: array}}
  required: [name, age, role]
"""


def packed(**given: str) -> str:
    """A fragment as another program would write it."""
    body = json.dumps(
        {{"context": "x", "source": "o"}.get(name, name[0]): value for name, value in given.items()}
    ).encode()
    squeezed = zlib.compressobj(9, zlib.DEFLATED, -15)
    return "1." + base64.urlsafe_b64encode(squeezed.compress(body) + squeezed.flush()).decode().rstrip("=")


SEEN = """() => {
  const lines = [...document.querySelectorAll("#try-reply .cm-line")];
  const found = {};
  lines.forEach((line, at) => {
    for (const mark of line.querySelectorAll("[data-fact]")) {
      const seen = (found[mark.dataset.fact] ??= {last: at, text: ""});
      seen.text += "\\n".repeat(at - seen.last) + mark.textContent;
      seen.last = at;
    }
  });
  return JSON.stringify({shown: lines.map((line) => line.textContent).join("\\n"), found});
}"""


@pytest.mark.needs("browser")
@pytest.mark.spec("X21")
def test_the_marks_of_real_verdicts_are_at_the_right_position(served: Any, look: Any) -> None:
    desk = served()
    tab = look(desk, "/try")
    for reply in REPLIES:
        body = json.dumps({"reply": reply, "contract": CONTRACT})  # in ASCII: half a surrogate pair is not valid UTF-8
        answer = desk.client.post("/judge", content=body, headers={"content-type": "application/json"})
        verdict = answer.json()["verdict"]
        assert verdict["marks"]
        tab.goto(f"{desk.url}/try#{packed(reply=reply, contract=CONTRACT)}")
        tab.wait_for_function(
            "([count, length]) => document.querySelectorAll('#try-reply [data-fact]').length >= count && document.querySelector('[data-judged]') && document.querySelector('#try-reply .foot').textContent.includes(`${length} characters`)",
            arg=[len(verdict["marks"]), units(reply)],
        )
        seen = json.loads(tab.evaluate(SEEN))
        assert seen["shown"] == reply
        for number, fact in enumerate(verdict["facts"]):
            if fact["span"] is not None:
                start, end = fact["span"]
                assert seen["found"][str(number)]["text"] == reply[start:end].strip("\n"), fact
        assert tab.locator("#try-reply img:not(.cm-widgetBuffer)").count() == 0
        isolated = "[...document.querySelectorAll('#try-reply .odd')].every((each) => getComputedStyle(each).unicodeBidi === 'isolate')"
        assert tab.evaluate(isolated)
        assert tab.locator("#try-reply .odd").count(), "what cannot be seen has a name"
