"""f-strings and `.format()`: the same text as in Python, from keys and list indexes of data, with limited length."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.expressions.errors import ExpressionError
from trueup.expressions.language import compile_expression

RECORD: dict[str, Any] = {
    "hp": 3, "name": "Ada", "share": 0.12345, "wounds": {"arm": 2, "leg": 0}, "items": ["sword", "rope"], "big": 12_345_678,
    "width": 8, "template": "{} and {}", "nothing": None, "there": True,
}  # fmt: skip


def value(source: str, record: Any = RECORD) -> Any:
    return compile_expression(source).evaluate(record)


SAME_AS_PYTHON = [
    "f'{hp} of {name}'", "f'{name!r:>{width}}|'", "f'{share:.2%} {share:8.3f}|'", "f'{big:,} {big:_} {big:x} {big:>12}'",
    "f'{nothing} {there} {items} {wounds}'", "f'{{}} {hp + 1}'", "f'{hp=}'", "f''", "f'{\", \".join(items)}'", "f'{name[:2]}'",
    "f'{items[0]:^9}'", "f'{name if hp else nothing}'", "[f'{i}:{v}' for i, v in enumerate(items)]", "f'{wounds[\"arm\"]:03d}'",
    "'{} of {}'.format(hp, name)", "'{0} {1} {0}'.format(hp, name)", "'{a:>5} {b!r}'.format(a=hp, b=name)",
    "'{:>{}}|'.format(name, width)", "'{0[arm]} {1[1]}'.format(wounds, items)", "template.format(hp, name)",
    "'{{}}'.format()", "'no fields'.format(hp)", "len('{}'.format(items)) > 3", "'{!a}'.format('é')", "'{template}'.format(template=1)",
]  # fmt: skip


@pytest.mark.spec("B7")
@pytest.mark.parametrize("source", SAME_AS_PYTHON)
def test_text_is_formatted_as_python_does(source: str) -> None:
    assert value(source) == eval(source, {}, dict(RECORD))


@given(
    st.sampled_from(["", "<", ">", "^", "=", "*^"]), st.sampled_from(["", "+", " "]), st.sampled_from(["", "0"]),
    st.integers(0, 40), st.sampled_from(["", ",", "_"]), st.sampled_from(["", ".0", ".3"]), st.sampled_from([*"bdeEfFgGosxXc%", ""]),
    st.sampled_from(["hp", "name", "share", "there", "nothing", "items", "big"]),
)  # fmt: skip
def test_any_specification_gives_the_same_as_python(
    align: str, sign: str, zero: str, width: int, group: str, precision: str, kind: str, field: str
) -> None:
    spec = f"{align}{sign}{zero}{width or ''}{group}{precision}{kind}"
    try:
        expected = format(RECORD[field], spec)
    except (ValueError, TypeError, OverflowError):
        expected = None
    for source in (f"f'{{{field}:{spec}}}'", f"'{{0:{spec}}}'.format({field})"):
        if expected is None:
            with pytest.raises(ExpressionError):
                value(source)
        else:
            assert value(source) == expected


@pytest.mark.spec("B7")
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("'{x.__class__}'.format(x=hp)", "keys and list indexes"),
        ("'{0.__class__.__mro__}'.format(name)", "keys and list indexes"),
        ("'{0.real}'.format(hp)", "keys and list indexes"),
        ("'{0[__class__]}'.format(wounds)", "keys and list indexes"),
        ("f'{hp.__class__}'", "__class__"),
        ("template.format(hp)", "no argument '1'"),
        ("'{nobody}'.format(hp)", "no argument 'nobody'"),
        ("'{'.format(hp)", "'{'"),
        ("'{0!x}'.format(hp)", "conversion"),
        ("'{:{:{}}}'.format(1, 2, 3)", "too deep"),
        ("f'{hp:>1001}'", "at most 1,000"),
        ("f'{share:.9999f}'", "at most 1,000"),
        ("'{:>{}}'.format(name, big)", "at most 1,000"),
        ("f'{hp:n}'", "depends on the machine"),
        ("f'{wounds:>9}'", "only text and numbers support a format such as '>9'"),
        ("f'{nothing:>9}'", "only text and numbers"),
        ("'{} {0}'.format(hp)", "not both"),
        ("'{0} {}'.format(hp, name)", "not both"),
        ("'{0[00000000001]}'.format(items)", "nothing under '00000000001'"),
        ("'{0[²]}'.format(items)", "nothing under '²'"),
        ("'{²}'.format(hp)", "no argument '²'"),
        ("f'{hp:١٠٠٠٠٠}'", "at most 1,000"),
        ("('{0}' * 50_000).format(hp)", "too much work"),
        ("('{0' + '.a' * 200_000 + '}').format(wounds)", "too much work"),
        ("[f'{share:.1000f}' for i in range(9_000)]", "too much work"),
        ("hp.format(1)", "method of text"),
        ("'{0].x}'.format(hp)", "no argument"),
    ],
)
def test_a_format_reaches_data_alone_and_stays_small(source: str, said: str) -> None:
    with pytest.raises(ExpressionError, match=said.replace("{", "\\{")):
        value(source)


def test_fields_of_an_f_string_are_fields_of_the_expression() -> None:
    assert compile_expression("f'{hp} {wounds.arm:>{width}}' != name").names == {"hp", "wounds", "width", "name"}
