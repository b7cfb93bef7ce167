"""The language: the expressions it accepts, the ones it refuses, and its messages."""

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from trueup.expressions.errors import ExpressionError
from trueup.expressions.functions import FUNCTIONS
from trueup.expressions.language import compile_expression
from trueup.expressions.methods import METHODS
from trueup.expressions.values import as_data

RECORD: dict[str, Any] = {
    "hp": 3,
    "max_hp": 9,
    "name": "Ada",
    "wounds": {"arm": 2, "leg": 0, "head": {"left": 1}},
    "items": [{"price": 2, "count": 3, "tags": ["a"]}, {"price": 5, "count": 1, "tags": []}],
    "max": 7,
    "len": "long",
    "dir": "north",
    "_x": 1,
    "x-y": 4,
    "when": None,
    "día": 5,
}


def value(source: str, record: dict[str, Any] = RECORD) -> Any:
    return compile_expression(source).evaluate(record)


def error(source: str, record: dict[str, Any] = RECORD) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        value(source, record)
    return caught.value


GIVES: list[tuple[str, Any]] = [
    ("hp <= max_hp", True),
    ("0 < hp < max_hp < 9", False),
    ("hp * 2 + max_hp // 2 - 7 % 4", 7),
    ("2 ** 10 - 1 << 1", 2046),
    ("-hp + +hp + ~hp", -4),
    ("len([v for v in wounds.values() if v == 2])", 1),
    ("sum(item.price * item.count for item in items)", 11),
    ("any(item.price > 4 for item in items) and all(item.count for item in items)", True),
    ("sorted(k for k, v in wounds.items() if k != 'head')", ["arm", "leg"]),
    ("{item.price for item in items} == {2, 5}", True),
    ("{item.price: len(item.tags) for item in items}[2]", 1),
    ("max(hp, max_hp) + min(items[0].price, 9) + abs(-1)", 12),
    ("round(hp / max_hp, 2)", 0.33),
    ("set([1, 1, 2]) == {1, 2} and tuple([1]) == (1,)", True),
    ("str(hp) + name.upper()", "3ADA"),
    ("int('4') + float('0.5') + bool(name)", 5.5),
    ("name.lower().startswith('a') and 'd' in name", True),
    ("wounds.get('tail', 0) + wounds['arm']", 2),
    ("'arm' in wounds.keys() and 2 in wounds.values()", True),
    ("'hp' in dir() and 'mana' not in dir()", True),
    ("dir()[0] == '_x' and len(dir()) == 12", True),
    ("max + max(1, 2)", 9),
    ("len == 'long' and len(len) == 4", True),
    ("dir == 'north' and 'dir' in dir()", True),
    ("_x + día", 6),
    ("record['x-y'] + record.hp", 7),
    ("record.get('mana', 11)", 11),
    ("wounds.head.left", 1),
    ("items[-1].price", 5),
    ("[i.price for i in items[:1]]", [2]),
    ("name[1:] + name[::-1]", "daadA"),
    ("'yes' if hp else 'no'", "yes"),
    ("when is None and hp is not None", True),
    ("isinstance(hp, int) and isinstance(name, (str, list))", True),
    ("[(i, x.price) for i, x in enumerate(items)]", [(0, 2), (1, 5)]),
    ("[a + b for a, b in zip([1, 2], [10, 20])]", [11, 22]),
    ("[x for x in range(3)] + list(reversed([1, 2]))", [0, 1, 2, 2, 1]),
    ("', '.join(str(i.price) for i in items)", "2, 5"),
    ("floor(2.7) + ceil(2.1) + sqrt(9)", 8.0),
    ("max([i.price for i in items if i.price > 9], default=0)", 0),
    ("sorted([3, 1, 2], reverse=True)", [3, 2, 1]),
    ("[[x * y for y in [1, 2]] for x in [1, 2]]", [[1, 2], [2, 4]]),
    ("{'a': hp, 'b': [name]}", {"a": 3, "b": ["Ada"]}),
    ("'a' 'b' == 'ab'", True),
    ("any(0 < i.price < i.count for i in items)", True),
    ("  hp\n  + 1  # of several lines\n  + 1", 5),
    ("'#' in name\n or 1", 1),
]


@pytest.mark.spec("B7")
@pytest.mark.parametrize(("source", "expected"), GIVES, ids=[source for source, _ in GIVES])
def test_it_gives(source: str, expected: Any) -> None:
    assert value(source) == expected


REFUSED = [
    ("lambda: 1", "lambda", 1),
    ("hp + (lambda: 1)()", "only the language's own functions and methods", 6),
    ("(y := 1)", "':='", 2),
    ("name.__class__", "__class__", 1),
    ("__import__('os')", "no function '__import__'", 1),
    ("().__class__.__base__", "__", 1),
    ("__builtins__", "__builtins__", 1),
    ("[__x for __x in items]", "__x", 10),
    ("open('/etc/passwd')", "no function 'open'", 1),
    ("name.format_map(wounds)", "no method 'format_map'", 1),
    ("name.format(*items)", "'*' before a value", 13),
    ("name.format(**wounds)", "'**' before a value", 1),
    ("items.append(1)", "no method 'append'", 1),
    ("items.sort()", "no method 'sort'", 1),
    ("name.encode()", "no method 'encode'", 1),
    ("wounds.pop('arm')", "no method 'pop'", 1),
    ("[*items]", "'*' before a value", 2),
    ("max(*items)", "'*' before a value", 5),
    ("dict(**wounds)", "option", 1),
    ("{**wounds}", "must be constants", 1),
    ("b'x'", "bytes", 1),
    ("1j", "complex", 1),
    ("...", "ellipsis", 1),
    ("hp @ hp", "'@'", 1),
    ("await hp", "await", 1),
    ("(x for x in items)", "generator", 1),
    ("len(x for x in items)", "generator", 4),
    ("hp is 3", "'is' works only with None", 1),
    ("sorted(items, key=len)", "no option 'key'", 1),
    ("isinstance(hp, object)", "isinstance() supports", 16),
    ("dir(hp)", "dir() takes no arguments", 1),
    ("len()", "len() takes 1 argument", 1),
    ("round(1, 2, 3)", "round() takes 1 to 2", 1),
    ("[x for record.x in items]", "only assign to names", 8),
    ("hp = 3", "not a valid expression", 4),
    ("hp; hp", "not a valid expression", 3),
    ("import os", "not a valid expression", 1),
    ("hp <=", "not a valid expression", 6),
    ("(hp", "never closed", 1),
    ("'hp", "unterminated", 1),
    ("", "empty", 0),
    ("  # nothing", "empty", 0),
    ("items[0", "never closed", 6),
]


@pytest.mark.spec("B7")
@pytest.mark.parametrize(("source", "said", "column"), REFUSED, ids=[row[0] or "empty" for row in REFUSED])
def test_it_refuses_before_anything_runs(source: str, said: str, column: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(source)
    assert said in caught.value.message
    assert caught.value.column == column


FAILS = [
    ("mana > 3", "there is no field 'mana'", 1, ""),
    ("1 + max_ph", "there is no field 'max_ph'", 5, "max_hp"),
    ("wounds.arn", "wounds has no 'arn'", 1, "arm"),
    ("wounds['tail']", "there is no key 'tail'", 1, ""),
    ("record['x-z']", "there is no field 'x-z'", 1, "x-y"),
    ("[i.prize for i in items]", "i has no 'prize'", 2, ""),
    ("1 + (name < hp)", "'<' cannot compare text with a number", 6, ""),
    ("hp + name", "'+' cannot combine a number and text", 1, ""),
    ("hp / (hp - hp)", "division by zero", 1, ""),
    ("when.left", "null has no parts", 1, ""),
    ("items.price", "a list has no named parts", 1, ""),
    ("name.price", "text has no named parts", 1, ""),
    ("items[5]", "list index out of range", 1, ""),
    ("[x for x in hp]", "a number is not iterable", 1, ""),
    ("hp.get('a')", "a number has no method 'get'", 1, ""),
    ("any(i.price > name for i in items)", "cannot compare a number with text", 5, ""),
    ("día + hp + mána", "there is no field 'mána'", 12, "día"),
    ("int('x')", "invalid literal for int()", 1, ""),
    ("'%s' % name", "'%' works only on numbers", 1, ""),
    ("(-8) ** 0.5", "root of a negative number", 1, ""),
    ("sum([[1]], [])", "sum() adds numbers", 1, ""),
]


@pytest.mark.spec("B7")
@pytest.mark.parametrize(("source", "said", "column", "suggestion"), FAILS, ids=[row[0] for row in FAILS])
def test_a_failure_names_the_problem_the_place_and_the_name_that_was_meant(
    source: str, said: str, column: int, suggestion: str
) -> None:
    found = error(source)
    assert said in found.message
    newer = {"[x for x in hp]": 13}  # from Python 3.13 on, the column is the column of the items
    assert found.column in (column, newer.get(source))
    assert found.suggestion in (suggestion, "") if suggestion == "día" else found.suggestion == suggestion
    assert found.__cause__ is None


@pytest.mark.spec("B7")
def test_compile_errors_suggest_the_nearest_function_and_method() -> None:
    assert error("lenn(items)").suggestion == "len"
    assert error("wounds.valuess()").suggestion == "values"


def test_an_expression_is_text() -> None:
    with pytest.raises(ExpressionError, match="put it in quotes"):
        compile_expression(True)  # type: ignore[arg-type]


@pytest.mark.spec("B7")
def test_a_field_affects_nothing_but_its_own_record() -> None:
    rule = compile_expression("max([hp, 2])")
    assert rule.evaluate({"hp": 3, "max": 1, "len": 2, "record": 0, "meter": 9, "g_0": 1, "__builtins__": {}}) == 3
    assert rule.evaluate({"hp": 4}) == 4


def test_names_fields_and_names_that_are_only_tested() -> None:
    rule = compile_expression("'mana' in dir() and hp < limits.hp and sum(x.hp for x in items) == record['x-y']")
    assert rule.names == {"hp", "limits", "items", "x-y"}
    assert [(field.path, field.column) for field in rule.fields] == [
        (("hp",), 21), (("limits", "hp"), 26), (("items",), 58), (("x-y",), 68),
    ]  # fmt: skip
    assert [field.path for field in rule.tested] == [("mana",)]
    assert "names" not in compile_expression("[names for names in items]").names


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("hp + 1 <= max_hp", 4),
        ("not (hp == 4)", 3),
        ("hp > 1 and max_hp < 3", 3),
        ("'hp' in dir() and hp + 2 < 3", 5),
        ("len(items)", 2),
        ("any(i.price > 9 for i in items)", False),
    ],
)
@pytest.mark.spec("B8")
def test_the_left_side_of_the_first_comparison(source: str, left: Any) -> None:
    assert compile_expression(source).left(RECORD) == left


def test_functions_of_the_caller_go_first_and_may_be_dotted() -> None:
    functions = {"double": lambda x: 2 * x, "text.shout": lambda x: x.upper() + "!", "len": lambda x: 99}
    rule = compile_expression("[double(hp), text.shout(name), len(items)]", functions=functions)
    assert rule.evaluate(RECORD) == [6, "ADA!", 99]
    with pytest.raises(ExpressionError, match="no function"):
        compile_expression("triple(hp)", functions=functions)


def test_an_exception_in_a_caller_s_function_is_reported() -> None:
    def broken(_: Any) -> None:
        raise RuntimeError("the shop is closed")

    rule = compile_expression("hp + buy(name)", functions={"buy": broken})
    with pytest.raises(ExpressionError, match=r"the shop is closed \(column 6\)"):
        rule.evaluate(RECORD)


@pytest.mark.parametrize(
    "source",
    [
        "random()", "randint(1, 6)", "uniform(1, 2)", "gauss(0, 1)", "choice(items)", "sample(items, 2)", "randrange(5)",
        "[random() for x in items]", "choices(items, k=3)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("seed", [0, 1, 2**31 - 1])
def test_a_seeded_generator_gives_the_same_as_in_python(source: str, seed: int) -> None:
    names = ("random", "randint", "uniform", "gauss", "choice", "choices", "sample", "randrange")
    ours, plain = Random(seed), Random(seed)
    rule = compile_expression(source, functions={name: getattr(ours, name) for name in names})
    record = {"items": [3, 1, 4, 1, 5, 9]}
    for _ in range(3):
        assert rule.evaluate(record) == eval(source, {**{name: getattr(plain, name) for name in names}, **record})


def test_values_leave_as_plain_data() -> None:
    assert as_data(value("(hp, {2, 1}, wounds.keys(), range(2), {'a': None})")) == [
        3, [1, 2], ["arm", "leg", "head"], [0, 1], {"a": None},
    ]  # fmt: skip
    assert as_data({1, "a"}) == [1, "a"] or as_data({1, "a"}) == ["a", 1]
    for odd in ({1: 2}, float("nan"), len, [[object()]]):
        with pytest.raises(ExpressionError):
            as_data(odd)
    nested = value("[[z, z] for z in [[y, y] for y in [[x, x] for x in [[1] * 9]]]]")
    for _ in range(20):
        nested = [nested, nested]
    with pytest.raises(ExpressionError, match="parts"):
        as_data(nested)


def test_the_reference_lists_every_function_and_method() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "expressions.md").read_text("utf-8")
    listed = set(re.findall(r"`(\w+)`", page))
    assert not {*FUNCTIONS, *METHODS, "dir"} - listed
