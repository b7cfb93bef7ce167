"""One known fault in generated JSON: the original value is read, and only that fault is named."""

import itertools
import json
import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.recover.material import json_containers, same
from trueup import Contract

ANY = Contract({"type": ["object", "array"]}, accept="guess")
# Typical text: words and numbers, addresses, a little code, several languages.
phrases = st.one_of(
    st.text(alphabet="abcdefghij klmnop", min_size=1, max_size=20),
    st.sampled_from(
        [
            "", "Ada", "Zoé Núñez", "¿Qué tal?", "北京市朝阳区", "https://e.example/a?b=1&c=2#d", "f(x) { return x; }", "a: b",
            "x, y and z", "50% [approx]", "it's", "C++ // fast", "#1", "1.", "null", "true", "12", "-", "a\\b", "<b>bold</b>",
            "**bold** and _thin_", "{name}", "e.g. this...", "😀", "tab\tbed", "two\nlines", 'say "hi"', "`ls`",
        ]
    ),
)  # fmt: skip
plain_phrases = phrases.filter(lambda text: not re.search(r"[\"\\\n\t]", text))
names = st.one_of(
    st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True),
    st.sampled_from(["first_name", "unitPrice", "ciudad", "año", "姓名"]),
)


def values(text: st.SearchStrategy[str], key: st.SearchStrategy[str] = names) -> st.SearchStrategy[Any]:
    leaves = st.one_of(st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(-1e9, 1e9), text)
    return st.dictionaries(
        key,
        st.recursive(
            leaves,
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(key, inner, min_size=1, max_size=4),
            max_leaves=10,
        ),
        min_size=1,
        max_size=5,
    )


def gives(text: str, value: Any, *codes: str) -> None:
    """The text is read as the value, and every fix has one of the codes (the first of them is there)."""
    verdict = ANY.check(text)
    assert same(verdict.data, value)
    assert verdict.ok
    found = {fix.code for fix in verdict.fixes}
    assert codes[0] in found
    assert found <= set(codes)


layouts = st.sampled_from([None, 1, 2, "\t"])


@pytest.mark.spec("A1", "B1")
@given(
    json_containers,
    layouts,
    st.sampled_from(
        [
            ("```json\n%s\n```", "W001"),
            ("```\n%s\n```\n", "W001"),
            ("```JSON5 file=a.json\n%s", "W001"),
            ("~~~json\n%s\n~~~", "W001"),
            ("Claro, aquí está:\n%s", "W002"),
            ("%s\n\nI hope this helps!", "W002"),
            ("<think>Hm. {maybe} [this]?</think>\n%s", "W003"),
            ("<answer>%s</answer>", "W004"),
            ("<tool_call>\n%s\n</tool_call>", "W004"),
            ("%s<|im_end|>", "W005"),
            ("\ufeff%s", "W006"),
        ]
    ),
)
def test_a_wrapper_is_removed(value: Any, layout: Any, wrapper: tuple[str, str]) -> None:
    around, code = wrapper
    assume(value)
    gives(around.replace("%s", json.dumps(value, indent=layout)), value, code)


@given(json_containers, st.booleans())
def test_json_in_a_string_is_read(value: Any, ascii_only: bool) -> None:
    assume(value)
    gives(json.dumps(json.dumps(value, ensure_ascii=ascii_only), ensure_ascii=ascii_only), value, "W008", "C005")


@given(values(phrases), layouts, st.data())
def test_trailing_commas_are_removed(value: Any, layout: Any, data: st.DataObject) -> None:
    text = json.dumps(value, indent=layout)
    # a closer outside strings with something before it in its container
    ends = [m.start(1) for m in re.finditer(r'"(?:[^"\\]|\\.)*"|(?<![\[{])(\s*[}\]])', text) if m[1]]
    ends = [at for at in ends if text[at - 1] not in "[{"]
    at = data.draw(st.sampled_from(ends))
    gives(text[:at] + "," + text[at:], value, "S001")


@given(values(phrases))
def test_python_literals_are_read(value: Any) -> None:
    text = repr(value)
    assume("'" in text)
    gives(text, value, "S008", "S018", "S025", "S020")


@given(values(plain_phrases.filter(lambda text: "'" not in text)))
def test_single_quotes_are_read(value: Any) -> None:
    gives(json.dumps(value, ensure_ascii=False).replace('"', "'"), value, "S008")


@given(values(plain_phrases), layouts)
def test_bare_keys_are_read(value: Any, layout: Any) -> None:
    text = re.sub(r'"(\w+)":', r"\1:", json.dumps(value, indent=layout, ensure_ascii=False))
    assume(not any(re.search(r"\w:", scalar) for scalar in re.findall(r'"[^"]*"', text)))
    gives(text, value, "S014")


@given(values(plain_phrases), st.sampled_from(["“”", "„“", "«»", "「」"]))
def test_typographic_quotes_are_read(value: Any, marks: str) -> None:
    text = re.sub(r'"([^"]*)"', lambda m: marks[0] + m[1] + marks[1], json.dumps(value, ensure_ascii=False))
    gives(text, value, "S009")


@given(values(phrases.filter(lambda text: '"' not in text and "\\" not in text)))
def test_raw_line_breaks_and_tabs_are_read(value: Any) -> None:
    value["note"] = "two\nlines\tand more"
    text = json.dumps(value, ensure_ascii=False)
    gives(text.replace("\\n", "\n").replace("\\t", "\t"), value, "S016")


@given(values(phrases), st.integers(1, 4), layouts)
def test_missing_closing_brackets_are_added(value: Any, missing: int, layout: Any) -> None:
    text = json.dumps(value, indent=layout)
    closers = re.search(r"[\s}\]]*\Z", text)
    assert closers is not None
    open_after = "".join(closers[0].split())[-missing:]
    assume(not text[: closers.start()].endswith(("[", "{", ",")))
    cut = len(text)
    for _ in open_after:
        cut = max(text.rfind("}", 0, cut), text.rfind("]", 0, cut))
    open_end = ["S043"] if text[cut - 1].isdigit() else []  # the number may continue, and that is recorded
    gives(text[:cut], value, "S005", *open_end)


@given(values(phrases), st.data())
def test_comments_are_removed(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value, indent=1)
    ends = [i for i, line in enumerate(text.split("\n")) if i]
    at = data.draw(st.sampled_from(ends))
    note = data.draw(st.sampled_from([' // a "note", here', " # note: {x}", ' /* a note, "b": 1 */', "\n  // alone"]))
    lines = text.split("\n")
    lines[at - 1] += note
    gives("\n".join(lines), value, "S017")


@given(values(phrases), st.data())
def test_a_comma_missing_at_the_end_of_a_line_is_added(value: Any, data: st.DataObject) -> None:
    lines = json.dumps(value, indent=1).split("\n")
    ends = [i for i, line in enumerate(lines) if line.endswith(",")]
    assume(ends)
    at = data.draw(st.sampled_from(ends))
    lines[at] = lines[at][:-1]
    gives("\n".join(lines), value, "S002")


@given(values(plain_phrases), st.data())
def test_an_extra_comma_is_removed(value: Any, data: st.DataObject) -> None:
    lines = json.dumps(value, indent=1).split("\n")
    ends = [i for i, line in enumerate(lines) if line.endswith(",")]
    assume(ends)
    lines[data.draw(st.sampled_from(ends))] += ","
    gives("\n".join(lines), value, "S003")


@given(values(plain_phrases), st.sampled_from(["：", "，"]))
def test_full_width_punctuation_is_read(value: Any, sign: str) -> None:
    plain = {"：": ":", "，": ","}[sign]
    pieces = re.split(r'("[^"]*")', json.dumps(value, ensure_ascii=False))
    text = "".join(piece if piece[:1] == '"' else piece.replace(plain, sign) for piece in pieces)
    assume(sign in text)
    gives(text, value, "S024")


@given(st.lists(values(plain_phrases), min_size=2, max_size=4), st.sampled_from(["\n", " ", "\n\n", "\n---\n", ",\n"]))
def test_consecutive_objects_are_collected_if_a_list_is_expected(several: list[Any], between: str) -> None:
    verdict = Contract({"type": "array", "items": {"type": "object"}}).check(between.join(map(json.dumps, several)))
    assert verdict.ok
    assert same(verdict.data, several)


@given(values(phrases), values(phrases))
def test_the_one_of_two_values_that_fits_is_read(fitting: Any, other: Any) -> None:
    schema = {"type": "object", "properties": {"Z9": {"type": "integer"}}, "required": ["Z9"]}
    wanted = {**fitting, "Z9": 9}
    for text in itertools.permutations([json.dumps(wanted), json.dumps(other)]):
        verdict = Contract(schema).check("First: " + "\nthen: ".join(text))
        assert verdict.ok
        assert same(verdict.data, wanted)
