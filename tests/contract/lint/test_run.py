"""Lint of a contract file: every fault at its position, all of them together; loading raises the same faults."""

from collections.abc import Callable
from pathlib import Path

import pytest

from trueup import Contract
from trueup.conform.options import Options
from trueup.contract.files.faults import ContractError
from trueup.contract.lint.examples import run_examples
from trueup.contract.lint.run import lint_contract

Places = list[tuple[str, int, int, str]]
Lint = Callable[..., Places]


@pytest.fixture
def lint(tmp_path: Path) -> Lint:
    def places(text: str, name: str = "c.yaml") -> Places:
        (tmp_path / name).write_text(text, "utf-8")
        return [(f.code, f.line, f.column, f.path) for f in lint_contract(tmp_path / name).faults]

    return places


SCHEMA = "schema: {properties: {hp: {type: integer}, max_hp: {type: integer}}}\n"


def test_all_faults_are_reported_together_in_file_order(lint: Lint) -> None:
    text = (
        "nme: x\n"
        "tools: [{name: look}]\n"
        "order: [lok]\n"
        "schema: {type: strng}\n"
        "states:\n  A: {forbid: [{pattern: '('}]}\n  B: {forbd: []}\n"
        "rules:\n  - hp >\n  - {name: b, expr: 'len(', error: no}\n"
    )
    assert lint(text) == [
        ("N005", 1, 1, "$.nme"),
        ("N010", 3, 9, "$.order[0]"),
        ("N007", 4, 16, "$.schema.type"),
        ("N005", 7, 7, "$.states.B.forbd"),
        ("N012", 9, 9, "$.rules[0]"),
        ("N012", 10, 25, "$.rules[1].expr"),
    ]


def test_faults_in_order_and_mentions_are_explained(lint: Lint) -> None:
    text = (
        "tools: [{name: look}]\n"
        "order: {expected_sequence: [look, lok], level: info}\n"
        "calls:\n  mentions:\n    patterns: ['a+', '(?=b)']\n    prefixs: [net_]\n  types: info\n  outside_enum: true\n"
    )
    assert lint(text) == [
        ("N006", 2, 48, "$.order.level"),
        ("N005", 6, 5, "$.calls.mentions.prefixs"),
        ("N006", 7, 10, "$.calls.types"),
        ("N006", 8, 17, "$.calls.outside_enum"),
    ]
    text = "tools: [{name: look}]\norder: {expected_sequence: [look, lok]}\ncalls: {mentions: {patterns: ['a+', '(?=b)']}}\n"
    assert lint(text) == [
        ("N010", 2, 35, "$.order.expected_sequence[1]"),
        ("N014", 3, 37, "$.calls.mentions.patterns[1]"),
    ]
    good = (
        "tools: [{name: look}]\norder: {expected_sequence: [look], level: error}\n"
        "calls:\n  mentions: {prefixes: [a_], suffixes: [_b], patterns: ['c.*'], level: error, ignore: ['d*']}\n"
        "  types: warning\n  outside_enum: default\n"
    )
    assert lint(good) == []


def test_misspelled_keys_of_tools_are_found_in_every_shape(lint: Lint) -> None:
    text = """name: shop
tools:
  - {name: one, descripton: Finds., parameters: {type: object, requried: [q], properties: {q: {minlenght: 1}}}}
  - {name: two, arguments: {type: object}}
  - {type: function, function: {name: three, paramters: {type: object}}}
  - functionDeclarations: [{name: four, parameters: {type: OBJECT, properties: {a: {type: ARRAY, itmes: {}}}}}]
  - {name: five, input_schema: {type: object}, cache_control: {type: ephemeral}, outputSchema: {type: object}}
  - {name: six, parameters: {itms: {type: string}, requird: {type: string}}}
  - {name: seven, parameters: {type: object, any_of: [{}], min_properties: 1}, schema: {}, arguments: {type: object}}
  - {toolSpec: {name: eight, inputSchema: {json: {type: object, requried: [q]}}}}
"""
    assert [(code, line, path) for code, line, _, path in lint(text)] == [
        ("N023", line, f"$.tools[{path}")
        for line, path in (
            (3, "0].descripton"),
            (3, "0].parameters.requried"),
            (3, "0].parameters.properties.q.minlenght"),
            (4, "1].arguments"),
            (5, "2].function.paramters"),
            (6, "3].functionDeclarations[0].parameters.properties.a.itmes"),
            (10, "7].toolSpec.inputSchema.json.requried"),
        )
    ]
    named = lint("tools: {find: {descripton: Finds., parameters: {type: object}}}\n")
    assert named == [("N023", 1, 16, "$.tools.find.descripton")]


def test_each_state_says_what_is_wrong_with_it(lint: Lint) -> None:
    text = "states:\n  A: {forbid: [{pattern: '('}]}\n  B: {forbid: [nobody]}\n  C:\n    forbid:\n    - patterns:\n      - ok\n      - (?<!x)y\n"
    assert lint(text) == [
        ("N014", 2, 26, "$.states.A.forbid[0].pattern"),
        ("N006", 3, 16, "$.states.B.forbid[0].group"),
        ("N014", 8, 9, "$.states.C.forbid[0].patterns[1]"),
    ]


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("  - hp <= max_ph", 11),
        ("  - {name: a, expr: hp <= max_ph}", 27),
        ("  - {name: a, expr: 'hp <= max_ph'}", 28),
        ("  - expr: >-\n      hp <=\n      max_ph", 11),
    ],
)
def test_an_unknown_field_is_placed_inside_the_expression(lint: Lint, line: str, column: int) -> None:
    (found,) = lint(f"{SCHEMA}rules:\n{line}\n")
    assert (found[0], found[1], found[2]) == ("N013", 3, column)


def test_an_expression_of_several_lines_says_the_column_in_words(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(f"{SCHEMA}rules:\n  - name: a\n    expr: |\n      hp > 0 and\n      open('x')\n")
    (found,) = lint_contract(tmp_path / "c.yaml").faults
    assert (found.line, found.column) == (4, 11)
    assert "of the expression" in found.message


def test_simple_checks_name_fields_of_the_schema(lint: Lint) -> None:
    text = SCHEMA + "rules:\n  required: [hp, mana]\n  ranges: {max_ph: [0, 9]}\n  rules:\n    - mana > hp\n"
    assert [(code, line) for code, line, _, _ in lint(text)] == [("N013", 3), ("N013", 4), ("N013", 6)]


def test_nested_fields_and_fields_in_messages_are_looked_for(lint: Lint) -> None:
    text = (
        "schema: {properties: {a: {type: object, properties: {b: {type: integer}}}, open: {type: object}, list: {type: array}}}\n"
        "rules:\n"
        "  - {name: r1, expr: 'a.b > 1 and open.anything and list[0].x', error: '{a.b} {_computed} {open.x}'}\n"
        "  - {name: r2, expr: 1 < a.bb, error: '{c} and {a.c}'}\n"
    )
    assert lint(text) == [
        ("N013", 4, 26, "$.rules[1].expr"),
        ("N013", 4, 39, "$.rules[1].error"),
        ("N013", 4, 39, "$.rules[1].error"),
    ]


def test_fields_of_the_input_are_known_when_they_are_listed(lint: Lint) -> None:
    assert [code for code, *_ in lint(SCHEMA + "rules: ['text != \"\" and hp > 1']\n")] == ["N013"]
    assert lint(SCHEMA + "input: [text]\nrules: ['text != \"\" and hp > 1']\n") == []


def test_a_schema_without_named_fields_has_no_unknown_ones(lint: Lint) -> None:
    assert lint("schema: true\nrules: [anything > 1]\n") == []


def test_faults_of_toml_and_json_have_places_too(lint: Lint) -> None:
    assert lint('name = "x"\n[calls]\nparalel = true\n', "c.toml") == [("N005", 3, 1, "$.calls.paralel")]
    assert lint('{"name": "x",\n "accept": "all"}', "c.json") == [("N006", 2, 12, "$.accept")]


def test_reply_rules_are_placed(lint: Lint) -> None:
    assert lint("reply:\n  rules:\n    - {name: a, expr: txt == 1}\n") == [("N012", 3, 23, "$.reply.rules[0].expr")]
    assert lint("reply: {min_txt: 5}\n") == [("N005", 1, 9, "$.reply.min_txt")]


@pytest.mark.spec("C14")
def test_states_are_linted(lint: Lint) -> None:
    text = (
        "states:\n"
        "  start: ASKING\n"
        "  ASKING:\n    next: [BOOKED]\n    tools: [book]\n"
        "  BOOKED:\n    next: []\n    forbid: [{terms: [price], why: names a price}]\n    fallback: The price is fine.\n"
        "  LOST: {}\n"
        "tools: [{name: look}]\n"
    )
    assert lint(text) == [
        ("N016", 3, 3, "$.states.ASKING"),
        ("N010", 5, 13, "$.states.ASKING.tools[0]"),
        ("N017", 9, 15, "$.states.BOOKED.fallback"),
        ("N015", 10, 3, "$.states.LOST"),
    ]


def test_a_fallback_outside_the_states_is_reported_at_its_own_place(lint: Lint) -> None:
    text = "states:\n  A: {forbid: [{terms: [price], why: names a price}]}\nfallbacks:\n  A: What price?\n  default: Hello.\n"
    assert lint(text) == [("N017", 4, 6, "$.fallbacks.A")]


@pytest.mark.spec("C10")
def test_a_contract_does_not_load_if_a_fallback_breaks_its_state(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("states:\n  A: {forbid: [{terms: [price]}], fallback: The price is 5.}\n")
    with pytest.raises(ContractError, match="N017"):
        Contract.load(tmp_path / "c.yaml")


def test_warnings_do_not_keep_a_contract_from_loading(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(SCHEMA + "rules: ['mana > 1']\n")
    assert Contract.load(tmp_path / "c.yaml").schema is not None


def test_a_file_has_everything_that_a_contract_takes(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "$schema: ./contract.schema.json\nname: shop\nversion: 3\nlanguage: es\ndescription: Sells.\n"
        "schema: {type: object, properties: {n: {type: integer}}}\naccept: lossless\n"
        "coerce: {profile: eager, aliases: {n: [number]}}\nstrict: true\nmax_size: 1000\nmax_depth: 20\n"
        "rules: [n > 0]\nreply: {min_text: 3}\nstates: {A: {fallback: Hola.}}\nfallbacks: {default: Adiós.}\n"
        "tools: [{name: look}]\norder: [look]\ncalls: {parallel: false}\nchecks: []\nexamples: []\n"
    )
    contract = Contract.load(tmp_path / "c.yaml")
    assert (contract.name, contract.version, contract.language) == ("shop", "3", "es")
    assert contract.options == Options("eager", {"n": ["number"]})
    assert (contract.accept, contract.strict, contract.max_size, contract.max_depth) == ("lossless", True, 1000, 20)
    assert contract.fallback({"state": "A"}) == "Hola."
    assert contract.fallback({"state": "B"}) == contract.fallback() == "Adiós."


def test_options_given_in_code_win(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("schema: true\naccept: none\n")
    assert Contract.load(tmp_path / "c.yaml", accept="lossy").accept == "lossy"
    assert Contract.load(str(tmp_path / "c.yaml")).accept == "none"


def test_a_contract_error_names_the_first_ten(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("".join(f"wrong{n}: 1\n" for n in range(15)))
    with pytest.raises(ContractError) as caught:
        Contract.load(tmp_path / "c.yaml")
    assert len(caught.value.faults) == 15
    assert str(caught.value).endswith("… and 5 more")


def test_examples_are_run_and_named_in_faults(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        SCHEMA + "rules: [{name: bounded, expr: hp <= max_hp, error: over}]\n"
        "examples:\n"
        '  - reply: \'{"hp": 1, "max_hp": 2}\'\n'
        '  - reply: \'{"hp": 3, "max_hp": 2}\'\n    gives: [B005]\n    ok: false\n'
        '  - name: wrong\n    reply: \'{"hp": 3, "max_hp": 2}\'\n    gives: [B005, V001]\n    data: {hp: 4}\n'
        '  - {reply: \'{"hp": "x"}\', ok: true}\n'
        "  - {reply: [{role: assistant, content: '{}'}], context: {state: A}}\n"
    )
    linted = lint_contract(tmp_path / "c.yaml")
    found = list(run_examples(linted))
    assert not linted.faults
    assert [(f.code, f.path) for f in found] == [
        ("N020", "$.examples[2].gives"),
        ("N020", "$.examples[2].data"),
        ("N020", "$.examples[3].ok"),
        ("N020", "$.examples[4].gives"),
    ]
    assert "wrong: does not give V001" in found[0].message


@pytest.mark.parametrize("text", ["", "null", "[]", "just text", "- a", "5"])
def test_a_part_that_must_be_a_mapping_is_refused_otherwise(lint: Lint, text: str) -> None:
    (found,) = lint(text)
    assert found[0] == "N006"


def test_examples_must_be_a_list(lint: Lint) -> None:
    assert lint("schema: true\nexamples: true\n") == [("N006", 2, 11, "$.examples")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "reply: yes\n",
            "'reply' must be a mapping or true or false, not text. Write true or false; anything else is text.",
        ),
        ("states: []\n", "'states' must be a mapping, not a list"),
        ("schema: true\nrules: [{name: a}]\n", "'rules[0]' is missing 'expr'. Add it."),
        ("schema: true\nrules: [5]\n", "'rules[0]' must be a mapping or text, not a number"),
        ("schema: 5\n", "'schema' must be a mapping, text or true or false, not a number"),
        ("name: 5\n", "'name' must be text, not a number. Put it in quotes."),
        (
            "examples: [{reply: hi, gives: [v001]}]\n",
            '"v001" is not a finding code. Write a code such as V001, or code and path: V001 $.age.',
        ),
        ("rules: [a > 1]\n", "N021 rules apply to data; give a schema as well"),
        ("name: x\n schema: true\n", "Look at the indentation of this line"),
    ],
)
def test_faults_are_worded_for_a_file(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ContractError) as caught:
        Contract.load(tmp_path / "c.yaml")
    assert says in str(caught.value)


def test_expressions_are_read_although_the_shape_is_wrong(lint: Lint) -> None:
    assert [code for code, *_ in lint("schema: true\nrules:\n  - {name: 3, expr: a}\n  - a >\n")] == ["N006", "N012"]


def test_a_type_that_is_not_a_word_is_a_fault(lint: Lint) -> None:
    assert [code for code, *_ in lint("schema: true\nrules: {types: {a: []}}\n")] == ["N006"]
    with pytest.raises(ValueError, match="unknown type"):
        Contract(True, rules={"types": {"a": []}})


@pytest.mark.spec("C14")
def test_all_faults_of_the_states_are_reported_together_without_their_consequences(lint: Lint) -> None:
    text = (
        "states:\n"
        "  groups:\n"
        "    bad: {patterns: ['(?=x)', 'ok', '[b']}\n"
        "    empty: {why: nothing}\n"
        "  claims: {book: {pattern: '(?!y)'}}\n"
        "  A:\n"
        "    forbid: [stylist, {terms: ['']}, {pattern: '(?<=a)b'}, {group: bda}, empty]\n"
        "    allow: [opning]\n"
        "    fallback: ''\n"
        "  B:\n"
        "    forbid: [bad, {timed: 5, pattern: x}]\n"
        "    fallback: hola a todos\n"
    )
    assert [(code, line, column) for code, line, column, _ in lint(text)] == [
        ("N014", 3, 22),
        ("N014", 3, 37),
        ("N006", 4, 12),
        ("N014", 5, 28),
        ("N006", 7, 14),
        ("N006", 7, 32),
        ("N014", 7, 48),
        ("N006", 7, 68),
        ("N006", 8, 13),
        ("N006", 9, 15),
        ("N006", 11, 27),
    ]


def test_a_pattern_is_shown_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("states: {S: {forbid: [{pattern: '(\\w+) \\1'}], fallback: hola a todos}}\n")
    (found,) = lint_contract(tmp_path / "c.yaml").faults
    assert found.message.startswith(r"'(\w+) \1' cannot be used: a back-reference")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("name: 5\n", "Put it in quotes."),
        ("states: {S: {forbid: [{terms: [0x1f]}], fallback: hola a todos}}\n", "Put it in quotes."),
        ("reply: yes\n", "Write true or false; anything else is text."),
        ("schema: true\nexamples: [{reply: '5', gives: V001}]\n", "Put it in brackets: [ … ]."),
    ],
)
def test_a_wrong_type_says_what_to_write(tmp_path: Path, text: str, hint: str) -> None:
    (tmp_path / "c.yaml").write_text(text)
    assert [found.hint for found in lint_contract(tmp_path / "c.yaml").faults] == [hint]


def test_a_file_in_another_encoding_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_bytes("# señor\nname: x\n".encode("latin-1"))
    (found,) = lint_contract(tmp_path / "c.yaml").faults
    assert (found.code, found.line, found.column, found.hint) == ("N001", 1, 5, "Save it as UTF-8.")
