"""Completion and hover in contracts while they are typed; `¦` stands for the cursor."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.studio.judging.conftest import Bench, Write
from trueup.checks.custom import FIELDS
from trueup.contract.lint.words import KEYWORDS
from trueup.expressions.functions import FUNCTIONS
from trueup.shelf.options import COMMON, BadOption
from trueup.shelf.table import SHELF, load
from trueup.studio.judging import vocabulary
from trueup.studio.judging.completing import complete
from trueup.studio.judging.hovering import hover
from trueup.studio.settings import StudioSettings

CONTRACTS = Path(__file__).parents[3] / "examples" / "contracts"
SETTINGS = StudioSettings(keys=())
SCHEMA = """\
schema:
  type: object
  required: [name, age]
  properties:
    name: {type: string, description: The whole name.}
    age: {type: integer, minimum: 0}
    address: {$ref: '#/$defs/Address'}
    lines:
      type: array
      items: {properties: {price: {type: number}}}
  $defs:
    Address: {properties: {city: {type: string}}}
"""
TALK = """\
tools:
  - {name: search, description: Finds a service.}
  - {type: function, function: {name: book}}
states:
  groups:
    times: {patterns: ['\\d+:\\d+'], why: It offers a time.}
  IDLE: {hint: Say hello., next: [DONE]}
  DONE: {}
"""


def request_for(text: str, kind: str = ".yaml", **more: Any) -> dict[str, Any]:
    before, after = text.split("¦")
    lines = before.split("\n")
    column = len(lines[-1].encode("utf-16-le")) // 2 + 1
    return {"text": before + after, "kind": kind, "file": "", "line": len(lines), "column": column, **more}


def offered(text: str, kind: str = ".yaml", **more: Any) -> dict[str, dict[str, str]]:
    return {item["label"]: item for item in complete(SETTINGS, **request_for(text, kind, **more))["items"]}


def written(text: str, label: str, kind: str = ".yaml") -> str:
    """The text after a completion was accepted."""
    given_ = request_for(text, kind)
    answer = complete(SETTINGS, **given_)
    item = next(item for item in answer["items"] if item["label"] == label)
    lines = given_["text"].split("\n")
    row, at = answer["from"]["line"] - 1, answer["from"]["column"] - 1
    assert row == given_["line"] - 1
    raw = lines[row].encode("utf-16-le")
    head, tail = raw[: 2 * at], raw[2 * (given_["column"] - 1) :]
    lines[row] = head.decode("utf-16-le") + item["apply"] + tail.decode("utf-16-le")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("¦", {"schema", "rules", "states", "accept", "examples"}),
        ("ru¦", {"rules"}),
        ("accept: ¦", {"none", "lossless", "guess", "lossy"}),
        ("accept:\n  ¦", {"none", "lossless", "guess", "lossy"}),
        ("strict: ¦", {"true", "false"}),
        ("order:\n  ¦", {"sequence", "requires", "level"}),
        ("order: {level: ¦", {"error", "warning"}),
        ("calls:\n  mentions:\n    ¦", {"prefixes"}),
        ("schema:\n  ¦", {"type", "properties", "required", "$defs"}),
        ("schema:\n  type: ¦", {"object", "array", "string"}),
        ("schema: {properties: {a: {type: ¦", {"object", "array", "string"}),
        ("schema:\n  properties:\n    a:\n      format: ¦", {"date", "email"}),
        ("tools:\n  - name: a\n    parameters:\n      ¦", {"type", "properties"}),
        ("rules:\n  - ¦", {"expr", "name", "level", "len"}),
        (SCHEMA + "rules:\n  - address.ci¦", {"city"}),
        (SCHEMA + "grounded: [¦", {"name", "address.city", "lines[].price"}),
        (SCHEMA + "grounded:\n  fields:\n    - ¦", {"name", "address.city", "lines[].price"}),
        (SCHEMA + "grounded:\n  quotations: [¦", {"name"}),
        ("schema: {type: array, items: {properties: {age: {type: integer}}}}\ngrounded: [¦", {"[].age"}),
        (
            "schema: {properties: {a: {$ref: '#/$defs/L'}}, $defs: {L: {type: array, items: {$ref: '#/$defs/L'}}}}\ngrounded: [¦",
            {"a"},
        ),
        ("schema: {properties: {next: {$ref: '#'}}}\ngrounded: [¦", {"next", "next.next"}),
        (SCHEMA + "grounded:\n  patterns:\n    ¦", {"name", "lines[].price"}),
        (
            "schema: {properties: {paid: {type: boolean}}}\ngrounded:\n  patterns:\n    paid:\n      ¦",
            {"true", "false"},
        ),
        (
            "schema: {properties: {kind: {enum: [open, closed]}}}\ngrounded:\n  patterns:\n    kind: {¦",
            {"open", "closed"},
        ),
        ("grounded:\n  least: ¦", {"exact", "normalized", "fuzzy"}),
        ("schema:\n  properties:\n    a:\n      x-grounded: ¦", {"true", "false", "quotation"}),
        ("checks:\n  - urls:\n      ¦", {"allow", "schemes", "level"}),
        ("checks:\n  - language: {¦", {"language", "least", "share", "level"}),
        ("checks:\n  - no_secrets: {level: ¦", {"error", "warning"}),
        ("checks:\n  - code: [¦", {"python", "json", "sql"}),
        (SCHEMA + "rules:\n  - len(lines) > 0 and na¦", {"name", "len"}),
        ("tools:\n  - ¦", {"name", "description", "parameters"}),
        ("tools:\n  - type: function\n    function:\n      ¦", {"name", "description", "parameters"}),
        ("tools:\n  - name: a\n    parameters:\n      - ¦", {"name", "type", "required"}),
        ("rules:\n  ¦", {"required", "ranges", "rules"}),
        ("rules:\n  - name: a\n    level: ¦", {"error", "warning"}),
        ("reply:\n  rules:\n    - name: a\n      expr: ¦", {"text", "length", "calls", "len"}),
        ("states:\n  IDLE:\n    ¦", {"forbid", "tools", "fallback"}),
        ("examples:\n  - reply: x\n    gives: [¦", {"V005", "B001"}),
        ("language: ¦", {"en", "es"}),
        (SCHEMA + "rules:\n  - expr: ¦", {"name", "age", "len", "any"}),
        (SCHEMA + "rules:\n  - expr: len(na¦", {"name", "len"}),
        (SCHEMA + "rules:\n  - expr: address.¦", {"city"}),
        (SCHEMA + "rules:\n  - expr: lines[0].pr¦", {"price"}),
        (SCHEMA + "rules:\n  required: [¦", {"name", "age"}),
        (SCHEMA + "rules:\n  required:\n    - ¦", {"name", "age"}),
        (SCHEMA + "rules:\n  ranges:\n    ¦", {"age"}),
        (SCHEMA.replace("required: [name, age]", "required: [name, ¦"), {"age", "address"}),
        (SCHEMA.replace("'#/$defs/Address'", "'¦"), {"#/$defs/Address"}),
        (TALK + "order:\n  sequence: [¦", {"search", "book"}),
        (TALK + "order:\n  requires:\n    ¦", {"search", "book"}),
        (TALK + "  NEXT:\n    tools: [¦", {"search", "book"}),
        (TALK + "  NEXT:\n    next: [¦", {"IDLE", "DONE"}),
        (TALK + "  NEXT:\n    forbid: [¦", {"times"}),
        (TALK + "  NEXT:\n    allow:\n      - ¦", {"times", "negated"}),
        (TALK + "fallbacks:\n  ¦", {"IDLE", "DONE"}),
        (TALK + "examples:\n  - reply: x\n    state: ¦", {"IDLE", "DONE"}),
    ],
)
def test_completions_are_offered(text: str, labels: set[str]) -> None:
    assert labels <= offered(text).keys()


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("name: x\n¦", {"name"}),
        ("accept: ¦", {"schema", "true"}),
        ("schema:\n  ¦", {"rules", "states"}),
        ("schema:\n  properties:\n    ¦", {"type", "properties", "rules"}),
        ("¦", {"type", "properties", "len"}),
        (SCHEMA + "rules:\n  - expr: address.¦", {"len", "name"}),
        (SCHEMA + "rules:\n  - name: x\n    ¦", {"len", "name"}),
        (SCHEMA + "rules:\n  - age > 3 and na¦", {"expr", "error"}),
        ("order: {sequence: [], ¦", {"sequence"}),
    ],
)
def test_completions_that_do_not_fit_are_not_offered(text: str, labels: set[str]) -> None:
    assert labels.isdisjoint(offered(text))


@pytest.mark.parametrize(
    ("text", "label", "kind", "result"),
    [
        ("sch¦", "schema", ".yaml", "schema: "),
        ("exa¦", "examples", ".yaml", "examples:\n  - "),
        ("cal¦", "calls", ".yaml", "calls: "),
        ("accept: gu¦", "guess", ".yaml", "accept: guess"),
        ("schema: {ty¦", "type", ".yaml", "schema: {type: "),
        ("{¦", "schema", ".json", '{"schema": '),
        ('{"sch¦"', "schema", ".json", '{"schema"'),
        ('{"accept": "gu¦"', "guess", ".json", '{"accept": "guess"'),
        ('{"accept": ¦', "guess", ".json", '{"accept": "guess"'),
        ('{"strict": ¦', "true", ".json", '{"strict": true'),
        ("acc¦", "accept", ".toml", "accept = "),
        ("accept = ¦", "guess", ".toml", 'accept = "guess"'),
        ("¦", "$schema", ".toml", '"$schema" = '),
        ("[sch¦]", "schema", ".toml", "[schema]"),
        ("[[ru¦", "rules", ".toml", "[[rules"),
        ("[schema.prop¦]", "properties", ".toml", "[schema.properties]"),
        ('name: x\n"sch¦"', "schema", ".yaml", 'name: x\n"schema"'),
        ("schema: {type: nu¦}", "null", ".yaml", 'schema: {type: "null"}'),
        (SCHEMA + "rules:\n  - age > 3 and na¦", "name", ".yaml", SCHEMA + "rules:\n  - age > 3 and name"),
        (SCHEMA + "rules:\n  - address.ci¦", "city", ".yaml", SCHEMA + "rules:\n  - address.city"),
        ("name: 😀\nschema: {$defs: {A: {}}, items: {$ref: ¦", "#/$defs/A", ".yaml", 'name: 😀\nschema: {$defs: {A: {}}, items: {$ref: "#/$defs/A"'),
        ("schema: {properties: {a😀: {type: o¦", "object", ".yaml", "schema: {properties: {a😀: {type: object"),
        (SCHEMA + "rules: ['len(na¦", "name", ".yaml", SCHEMA + "rules: ['len(name"),
    ],
)  # fmt: skip
def test_an_accepted_completion_inserts_its_text(text: str, label: str, kind: str, result: str) -> None:
    assert written(text, label, kind) == result


def test_completions_have_a_description() -> None:
    assert (
        offered("¦")["accept"]["info"]
        == "The riskiest grade of fix that a reply may need and still be ok. Default: guess."
    )
    assert offered("¦")["accept"]["detail"] == "none | lossless | guess | lossy"
    assert offered(SCHEMA + "rules:\n  - expr: ¦")["name"]["info"] == "string. The whole name."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("acc¦ept: guess", "The riskiest grade of fix"),
        ("¦accept: guess", "The riskiest grade of fix"),
        ("schema:\n  require¦d: [a]", "required members"),
        ("tools:\n  - na¦me: look", "a model calls it"),
        (SCHEMA.replace("name: {", "na¦me: {"), "The whole name."),
        (SCHEMA.replace("[name, age]", "[name, ag¦e]"), "integer, at least 0."),
        (SCHEMA + "rules:\n  - expr: l¦en(name) > 2", "the number of items"),
        (SCHEMA + "rules:\n  - expr: len(na¦me) > 2", "The whole name."),
        (SCHEMA + "rules:\n  - address.ci¦ty == 'Oslo'", "string"),
        (TALK + "order: [sea¦rch]", "Finds a service."),
        (TALK + "fallbacks: {ID¦LE: Hello}", "Say hello."),
        (TALK + "  NEXT: {forbid: [tim¦es]}", "It offers a time."),
        ("examples:\n  - {reply: x, gives: [V0¦05]}", "not-in-enum"),
        ("reply:\n  rules:\n    - {name: a, expr: len¦gth > 2}", "characters"),
        ('{"acc¦ept": "guess"}', "The riskiest grade of fix"),
    ],
)
def test_a_known_word_has_hover_text(text: str, said: str) -> None:
    kind = ".json" if text.startswith("{") else ".yaml"
    answer = hover(SETTINGS, **request_for(text, kind))
    assert said in (answer["text"] or "")
    line = text.replace("¦", "").split("\n")[answer["from"]["line"] - 1]
    assert line[answer["from"]["column"] - 1 : answer["to"]["column"] - 1].strip("\"'")


@pytest.mark.parametrize(
    "text", ["¦", "name: so¦me", "# acc¦ept", "xyz¦: 1", "schema:\n  properties:\n    x: {t¦: 1}", "a: [¦]"]
)
def test_other_words_have_no_hover_text(text: str) -> None:
    assert hover(SETTINGS, **request_for(text)) == {"text": None}


def test_names_from_an_extended_file_are_offered(bench: Bench, write: Write) -> None:
    write("contracts/own.yaml", "schema: true\n")
    write("contracts/base.yaml", TALK)
    given_ = request_for("extends: base.yaml\norder:\n  sequence: [¦", file="contracts/own.yaml")
    assert {"search", "book"} <= {item["label"] for item in complete(bench.studio.settings, **given_)["items"]}


def test_files_next_to_the_contract_are_offered(bench: Bench, write: Write) -> None:
    for name in ("own.yaml", "base.yaml", "person.json", ".hidden.yaml", "notes.txt"):
        write(f"contracts/{name}", "schema: true\n")
    for text in ("extends: ¦", "extends: [¦", "schema: ¦", "tools: pe¦"):
        offers = complete(bench.studio.settings, **request_for(text, file="contracts/own.yaml"))["items"]
        assert [item["label"] for item in offers if item["detail"] == "file"] == ["base.yaml", "person.json"]
    assert not complete(bench.studio.settings, **request_for("extends: ¦"))["items"]


@pytest.mark.parametrize("file", sorted(CONTRACTS.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_key_of_our_contracts_is_known(file: Path) -> None:
    """Hovering over each top-level key shows a text, and completing there never fails."""
    text = file.read_text("utf-8")
    for row, line in enumerate(text.split("\n"), 1):
        if line[:1].isalpha():
            assert hover(SETTINGS, text, ".yaml", "", row, 1)["text"], line


def test_the_offered_options_of_ready_checks_are_the_ones_that_they_accept() -> None:
    assert vocabulary.CHECK_OPTIONS.keys() == SHELF.keys()
    for name, row in SHELF.items():
        offered = set(vocabulary.CHECK_OPTIONS[name])
        assert offered & set(COMMON) == set(COMMON) - (set() if row.plain else {"calls"})
        known = offered - set(COMMON)
        for member in row.group or (name,):
            with pytest.raises(BadOption) as caught:
                load(SHELF[member], {"zzzzzzzz": True})
            taken = set(str(caught.value).partition("; it takes ")[2].split(", ")) - set(COMMON)
            assert taken <= known
            known -= set() if row.group else taken
        assert not known or row.group, f"{name} does not take {known}"


def test_the_vocabulary_is_complete() -> None:
    left_out = {"id", "xml", "example", "externalDocs", "propertyOrdering", "enumNames", "enumDescriptions", "dependencies",
                "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary"}  # fmt: skip
    assert set(vocabulary.KEYWORDS) == KEYWORDS - left_out
    assert set(vocabulary.FUNCTIONS) == {*FUNCTIONS, "dir", "isinstance"}
    assert set(vocabulary.REPLY_NAMES) == set(FIELDS)


PIECES = st.sampled_from([
    "schema", "rules", "states", ": ", "\n", "\n  ", "\n    ", "- ", "{", "}", "[", "]", ",", '"', "'", "expr", "properties", "tools", "name", ".",
    "$ref", "#/$defs/a", "order", "V001", "😀", "|", "\ud800", "examples", "gives", "1", "=",
])  # fmt: skip


@given(
    st.lists(PIECES, max_size=25).map("".join),
    st.integers(-1, 9),
    st.integers(-1, 30),
    st.sampled_from([".yaml", ".json", ".toml"]),
)
def test_any_text_can_be_completed_and_hovered(text: str, line: int, column: int, kind: str) -> None:
    answer = complete(SETTINGS, text, kind, "", line, column)
    assert answer["from"]["line"] >= 1
    assert answer["from"]["column"] >= 1
    for item in answer["items"]:
        assert item["label"]
        assert item["apply"]
    hover(SETTINGS, text, kind, "", line, column)
