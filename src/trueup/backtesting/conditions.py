"""Conditions for CI: decide whether an expression such as `newly_refused > 0.5% and p < 0.05` is true.

Names refer to figures of a backtest; `.low` and `.high` are the ends of their intervals. A percentage is compared with
a share, a plain number with a count. The language has nothing else: no calls, no attributes, no arithmetic.
"""

import operator
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:_\d+)*(?:\.\d+)?|\.\d+)(?P<percent>\s*%)?|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]+)?)"
    r"|(?P<compare><=|>=|==|!=|<|>)|(?P<mark>[()])|(?P<sign>-))"
)
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_MOST = 1000
_SHOWN = 80  # characters of a condition that an error quotes
_WORDS = {"or": 1, "and": 2, "not": 3}


class BadCondition(ValueError):
    """An expression is not valid. The message says where, and lists the names."""


class CountAndShare(msgspec.Struct, frozen=True):
    """A figure of a backtest, as a count and as a share. None if it is unknown or does not apply."""

    count: float | None = None
    share: float | None = None


class _Comparison(NamedTuple):
    name: str
    compare: str
    number: float
    percent: bool


_Item = _Comparison | str


class Condition:
    """A parsed expression."""

    def __init__(self, text: str, names: Mapping[str, object]) -> None:
        self.text = text
        self._items = _in_order(_items(text, names), text)

    def holds(self, figures: Mapping[str, CountAndShare]) -> bool:
        """Whether it is true. A comparison with an unknown figure is false."""
        stack: list[bool] = []
        for item in self._items:
            if isinstance(item, _Comparison):
                stack.append(_compared(item, figures))
            elif item == "not":
                stack.append(not stack.pop())
            else:
                right, left = stack.pop(), stack.pop()
                stack.append(left and right if item == "and" else left or right)
        return stack[0]

    def unknown(self, figures: Mapping[str, CountAndShare]) -> list[str]:
        """The names in it that have unknown figures."""
        return [item.name for item in self._items if isinstance(item, _Comparison) and _figure(item, figures) is None]


def _figure(item: _Comparison, figures: Mapping[str, CountAndShare]) -> float | None:
    figure = figures[item.name]
    return figure.share if item.percent or figure.count is None else figure.count


def _compared(item: _Comparison, figures: Mapping[str, CountAndShare]) -> bool:
    found = _figure(item, figures)
    return False if found is None else _COMPARE[item.compare](found, item.number)


def _items(text: str, names: Mapping[str, object]) -> list[_Item]:
    """The comparisons, words and brackets in order."""
    tokens = _tokens(text)
    items: list[_Item] = []
    at = 0
    while at < len(tokens):
        kind, word, place = tokens[at]
        if kind == "mark" or (kind == "name" and word in _WORDS):
            items.append(word)
            at += 1
            continue
        if kind != "name":
            raise BadCondition(
                f"{_quoted(text)}: a figure is expected at {word!r} (column {place + 1}); {_known(names)}"
            )
        if word not in names:
            raise BadCondition(f"{_quoted(text)}: unknown figure {word!r}; {_known(names)}")
        if at + 1 >= len(tokens) or tokens[at + 1][0] != "compare":
            raise BadCondition(f"{_quoted(text)}: {word} is compared with nothing; write {word} > 0.5% or {word} > 10")
        sign, rest = 1.0, at + 2
        if rest < len(tokens) and tokens[rest][0] == "sign":
            sign, rest = -1.0, rest + 1
        if rest >= len(tokens) or tokens[rest][0] not in ("number", "percent"):
            raise BadCondition(
                f"{_quoted(text)}: a number or a percentage is expected after {word} {tokens[at + 1][1]}"
            )
        percent = tokens[rest][0] == "percent"
        number = sign * float(f"{tokens[rest][1]}{'e-2' if percent else ''}")
        items.append(_Comparison(word, tokens[at + 1][1], number, percent))
        at = rest + 1
    return items


def _tokens(text: str) -> list[tuple[str, str, int]]:
    if len(text) > _MOST:
        raise BadCondition(f"a condition of {len(text):,} characters is too long; at most {_MOST:,}")
    tokens, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise BadCondition(f"{_quoted(text)}: {text[at:].strip()[:20]!r} is not understood (column {at + 1})")
        kind = "percent" if match["percent"] else str(match.lastgroup)
        tokens.append((kind, match["number"] or match[0].strip(), match.start()))
        at = match.end()
    if not tokens:
        raise BadCondition("the condition is empty; write one such as newly_refused > 0.5%")
    return tokens


def _in_order(items: list[_Item], text: str) -> list[_Item]:
    """The items in postfix order: each word after its operands, without brackets."""
    done: list[_Item] = []
    waiting: list[str] = []
    operand = True  # whether a comparison comes next
    for item in items:
        if isinstance(item, _Comparison):
            _expect(text, "write `and` or `or` between two comparisons", holds=operand)
            done.append(item)
            operand = False
        elif item in ("(", "not"):
            _expect(text, f"write `and` or `or` before {item}", holds=operand)
            waiting.append(item)
        elif item == ")":
            _expect(text, "a comparison is missing before )", holds=not operand)
            while waiting and waiting[-1] != "(":
                done.append(waiting.pop())
            _expect(text, "a ) does not have a matching (", holds=bool(waiting))
            waiting.pop()
        else:
            _expect(text, f"a comparison is missing before {item}", holds=not operand)
            while waiting and waiting[-1] != "(" and _WORDS[waiting[-1]] >= _WORDS[item]:
                done.append(waiting.pop())
            waiting.append(item)
            operand = True
    _expect(text, "a comparison is missing at the end", holds=not operand)
    _expect(text, "a ( does not have a matching )", holds="(" not in waiting)
    return done + waiting[::-1]


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _expect(text: str, otherwise: str, *, holds: bool) -> None:
    if not holds:
        raise BadCondition(f"{_quoted(text)}: {otherwise}")


def _known(names: Mapping[str, object]) -> str:
    plain = [name for name in names if "." not in name]
    return f"the names are {', '.join(plain)}; rates also have .low and .high"
