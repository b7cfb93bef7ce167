"""Files become plain data with positions: YAML 1.2, TOML and JSON, with limits, or one fault."""

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.growth import assert_all_linear, each
from tests.shapes.documents import DEEP, REPEATED
from tests.shapes.shape import Shape
from trueup.contract.files.documents import LIMITS, parse_document, read_document
from trueup.contract.files.faults import ContractError, Fault
from trueup.verdict.paths import Parts

words = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cf", "Cn", "Co", "Zl", "Zp")), max_size=12
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4), max_leaves=20
)


def yaml(text: str) -> Any:
    return parse_document(text, "x.yaml", ".yaml").data


def stopped(text: str, kind: str = ".yaml") -> Fault:
    with pytest.raises(ContractError) as caught:
        parse_document(text, "x" + kind, kind)
    return caught.value.faults[-1]


def walk(value: Any, path: Parts = ()) -> list[tuple[Parts, Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(path, value), *(found for key, part in inner for found in walk(part, (*path, key)))]


@given(values)
def test_json_comes_back_equal(value: Any) -> None:
    assert parse_document(json.dumps(value), "x.json", ".json").data == value


@given(values)
def test_json_is_yaml_and_means_the_same(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert parse_document(text, "x.yaml", ".yaml").data == value


@given(values, st.sampled_from([".json", ".yaml"]), st.sampled_from([None, 1, 3]))
def test_every_mark_is_the_position_of_its_value(value: Any, kind: str, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    document = parse_document(text, "x", kind)
    lines = text.split("\n")
    for path, part in walk(value):
        place = document.marks.value(path)
        start = json.dumps(part, ensure_ascii=False)
        here = lines[place.line - 1][place.column - 1 :]
        assert here[0] == start[0] if isinstance(part, dict | list) else here.startswith(start)
        if path and isinstance(path[-1], str):
            key = document.marks.key(path)
            assert lines[key.line - 1][key.column - 1 :].startswith(json.dumps(path[-1], ensure_ascii=False))


@pytest.mark.spec("X6")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("yes", "yes"), ("on", "on"), ("Off", "Off"), ("y", "y"), ("1:30", "1:30"), ("12:30:45", "12:30:45"),
        ("true", True), ("FALSE", False), ("null", None), ("~", None), ("0o17", 15), ("0x1F", 31), ("017", 17), ("1_000", "1_000"),
        ("2026-01-05", "2026-01-05"), ("1.5", 1.5), ("1e3", 1000.0), ("1.", 1.0), ("1e999", "1e999"), (".inf", ".inf"), (".nan", ".nan"),
        ("'5'", "5"), ('"true"', "true"), ("!!str 5", "5"), ("=", "="), ("0b101", "0b101"), ("+12", 12),
    ],
)  # fmt: skip
def test_scalars_are_those_of_yaml_1_2(text: str, value: Any) -> None:
    found = yaml(f"a: {text}")["a"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.spec("X6")
def test_an_alias_bomb_is_refused_before_it_is_built() -> None:
    lines = ["a0: &a0 [" + ", ".join(["x"] * 10) + "]"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * 10) + "]" for n in range(1, 40)]
    found = stopped("\n".join(lines))  # 10**40 items, if they were made
    assert (found.code, found.line) == ("N003", 7)


@pytest.mark.spec("X6")
def test_a_bomb_of_long_texts_is_refused_as_well() -> None:
    lines = ["a0: &a0 " + "x" * 10_000] + [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * 9) + "]" for n in range(1, 6)]
    assert stopped("\n".join(lines)).code == "N003"


@pytest.mark.spec("X6", "X1")
@pytest.mark.parametrize("kind", [".yaml", ".json", ".toml"])
@pytest.mark.parametrize("depth", [10, 200, 100_000])
def test_depth_is_bounded(kind: str, depth: int) -> None:
    text = "[" * depth + "]" * depth
    if kind == ".toml":
        text = f"a = {text}"
    if depth == 10:
        assert parse_document(text, "x", kind).data
    else:
        assert stopped(text, kind).code == "N003"


def test_block_depth_is_bounded() -> None:
    assert stopped("\n".join(" " * n + "k:" for n in range(200))).code == "N003"
    assert stopped("- " * 200 + "x").code == "N003"


def test_an_alias_is_the_value_of_its_anchor() -> None:
    assert yaml("a: &x {n: 1}\nb: *x\nc: [*x, *x]") == {"a": {"n": 1}, "b": {"n": 1}, "c": [{"n": 1}, {"n": 1}]}
    assert yaml("a: &x text\nb: *x") == {"a": "text", "b": "text"}


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("a: [1\n", 2, 1, "not YAML"),
        ("a: b: c", 1, 5, "not allowed here"),
        ("a:\n\tb: 1", 2, 1, "not YAML"),
        ("a: !!python/object:os.system x", 1, 4, "tag"),
        ("a: !mine x", 1, 4, "tag"),
        ("a: 1\n---\nb: 2", 2, 1, "one document"),
        ("a: *nowhere", 1, 4, "no anchor"),
        ("a: &x\n  b: *x", 2, 6, "inside the value that it names"),
        ("a: 1\n<<: {b: 2}", 2, 1, "merge keys"),
        ("? [a, b]\n: c", 1, 3, "a key must be text"),
        ("a: \x01", 1, 4, "special characters"),
        ('a: "\\ud83d"', 1, 4, "surrogate"),
    ],
)
def test_a_fault_of_yaml_has_line_and_column(text: str, line: int, column: int, says: str) -> None:
    found = stopped(text)
    assert (found.code, found.line, found.column) == ("N002", line, column)
    assert says in found.message


def test_pairs_of_surrogates_are_one_character() -> None:
    for kind in (".yaml", ".json"):
        assert parse_document('{"a": "\\ud83d\\ude00"}', "x", kind).data == {"a": "😀"}
    assert stopped('{"a": "\\ud83d"}', ".json").code == "N002"


def test_the_advice_fits_the_line() -> None:
    assert "tabs" in stopped("a:\n\tb: 1").hint
    assert "quotes" in stopped("error: too many: really").hint


@pytest.mark.parametrize("kind", [".yaml", ".json"])
def test_a_duplicate_key_is_reported_with_both_places(kind: str) -> None:
    text = '{"a": 1,\n "b": {"c": 1, "c": 2},\n "a": 3}'
    found = parse_document(text, "x", kind).faults
    assert [(f.code, f.path, f.line, f.column) for f in found] == [("N004", "$.b.c", 2, 16), ("N004", "$.a", 3, 2)]
    assert "the first is in line 1" in found[1].message


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [('{"a": 1,}', 1, 9), ('{\n "a" 1}', 2, 6), ("", 1, 1), ('{"a": NaN}', 1, 1), ("{'a': 1}", 1, 2)],
)
def test_a_fault_of_json_has_line_and_column(text: str, line: int, column: int) -> None:
    found = stopped(text, ".json")
    assert (found.code, found.line) == ("N002", line)
    assert found.column in {column, column - 1}


TOML = """\
name = "shop"
schema.type = "object"

[order]
sequence = ["look"]
note = '''
name = "not a key"
'''

[[rules]]
name = "one"
expr = "a > 1"

[[rules]]
name = 'two'
inner = { "odd key" = 1 }
[rules.deep]
x = 1
"""


def test_toml_is_read_with_the_place_of_its_keys() -> None:
    document = parse_document(TOML, "x.toml", ".toml")
    assert document.data == tomllib.loads(TOML)
    places = {
        ("name",): "x.toml:1:1", ("schema", "type"): "x.toml:2:1", ("order",): "x.toml:4:2", ("order", "sequence"): "x.toml:5:1",
        ("rules", 0, "expr"): "x.toml:12:1", ("rules", 1, "name"): "x.toml:15:1", ("rules", 1, "deep", "x"): "x.toml:18:1",
        ("rules", 1, "inner", "odd key"): "x.toml:16:9",
    }  # fmt: skip
    assert {path: str(document.marks.key(path)) for path in places} == places
    assert document.marks.value(("rules", 0, "expr")).inner == 9


def test_a_fault_of_toml_has_line_and_column() -> None:
    found = stopped('a = 1\nb = "x', ".toml")
    assert (found.code, found.line) == ("N002", 2)
    assert stopped("a = 1\nb = 2026-01-05", ".toml").line == 2
    assert stopped("a = [1, nan]", ".toml").code == "N002"


def test_an_unreadable_file_says_why(tmp_path: Path) -> None:
    def code_of(path: Path) -> tuple[str, str]:
        with pytest.raises(ContractError) as caught:
            read_document(path)
        return caught.value.faults[0].code, caught.value.faults[0].message

    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "latin.yaml").write_bytes(b"name: ok\nlanguage: espa\xf1ol")
    (tmp_path / "big.yaml").write_bytes(b"#" * (LIMITS[".yaml"] + 1))
    (tmp_path / "x.txt").write_text("a: 1")
    assert code_of(tmp_path / "none.yaml") == ("N001", "there is no such file")
    assert code_of(tmp_path / "folder.yaml")[0] == "N001"
    assert code_of(tmp_path / "latin.yaml") == ("N001", "the file is not UTF-8 (byte 23)")
    assert code_of(tmp_path / "big.yaml")[0] == "N003"
    assert code_of(tmp_path / "x.txt")[0] == "N001"
    assert code_of(Path("nul\0.yaml"))[0] == "N001"
    os.mkfifo(tmp_path / "pipe.yaml")
    assert code_of(tmp_path / "pipe.yaml") == ("N001", "the file cannot be read: it is a pipe or a device")


@pytest.mark.spec("X1", "X2", "X6")
@each(REPEATED + DEEP)
def test_documents_are_read_in_linear_time(shapes: list[Shape]) -> None:
    for shape in shapes:
        assert outcome(shape.make(shape.size), shape.variant) in {"read", "N002", "N003"}
    assert_all_linear(shapes)


@pytest.mark.spec("X6")
@pytest.mark.parametrize("key", ["{}", "[{}]", "x = {{{} = 1}}", '"a".{}'])
def test_a_dotted_key_of_toml_is_bounded_and_dots_in_text_are_not(key: str) -> None:
    long = key.format(".".join(["a"] * 100)) + ("" if "x =" in key else "\n" if key[0] == "[" else " = 1")
    found = stopped(long, ".toml")
    assert (found.code, found.line) == ("N003", 1)
    dots = "a." * 100
    for text in (f"x = '{dots}'", f'x = "{dots}"', f'x = """\n{dots}\n"""', f"x = 1  # {dots}", f"x = '''\n{dots}'''"):
        assert outcome(text, ".toml") == "read"


def test_a_byte_order_mark_and_windows_line_ends_are_not_data(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: |\r\n  x\r\n  y\r\n")
    document = read_document(file)
    assert document.data == {"a": 1, "b": "x\ny\n"}
    assert document.marks.key(("b",)).line == 2


def outcome(text: str, kind: str) -> str:
    """`read`, or the code of the fault that prevented it."""
    try:
        parse_document(text, "x", kind)
    except ContractError as error:
        return error.faults[-1].code if all(f.line >= 1 <= f.column for f in error.faults) else "no place"
    return "read"


@given(st.text(max_size=60), st.sampled_from([".yaml", ".json", ".toml"]))
def test_any_text_is_a_document_or_a_fault(text: str, kind: str) -> None:
    assert outcome(text, kind) in {"read", "N002", "N003"}


SIGNS = ["a: ", "- ", "[", "]", "{", "}", "&x ", "*x", "|\n", "> \n", "'", '"', "\n", "  ", "? ", ": ", ",", "#", "!!str ", "%", "---\n", "<<: "]  # fmt: skip


@given(st.lists(st.sampled_from(SIGNS), max_size=25))
def test_any_yaml_like_text_is_a_document_or_a_fault(pieces: list[str]) -> None:
    assert outcome("".join(pieces), ".yaml") in {"read", "N002", "N003"}
