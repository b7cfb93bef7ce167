"""The sandbox of prompts: Jinja2's own, with limits on the time and memory that a template can use.

Compiles a template so that its loops, calls and joined texts are counted. Beyond a limit it stops with `TooMuch`, which fails one
unit. Attributes that lead out of the sandbox, and methods that format text with its own content, are removed.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Cycler, Joiner, Namespace

MOST_STEPS = 1_000_000  # turns of loops and calls, all together
MOST_TEXT = 10_000_000  # characters of one text, or items of one list

# Methods of text that make much text out of little, or format with the content of the text itself.
_GROWING = frozenset({"center", "ljust", "rjust", "zfill", "expandtabs", "format", "format_map", "translate"})
_NO_FILTERS = ("center", "format", "xmlattr", "urlize", "random", "attr", "pprint", "filesizeformat", "wordwrap")


class TooMuch(SecurityError):
    """A template exceeds a limit."""


class Sandbox(ImmutableSandboxedEnvironment):
    """Compiles the templates of one folder."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def __init__(self, folder: Path) -> None:
        super().__init__(
            loader=FileSystemLoader(folder),
            undefined=StrictUndefined,
            autoescape=False,
            auto_reload=False,
            cache_size=200,
        )
        self.steps = 0
        self.globals = {"range": _range, "dict": dict, "namespace": Namespace, "cycler": Cycler, "joiner": Joiner}
        for name in _NO_FILTERS:
            self.filters.pop(name, None)
        self.filters |= {
            "counted_": self._counted,
            "joined_": _joined,
            "indent": _indent,
            "tojson": _to_json,
            "replace": _replace,
            "join": _join,
            "batch": _bounded(self.filters["batch"]),
            "slice": _bounded(self.filters["slice"]),
        }

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """Parse, and add a counter to everything that a loop iterates over and every text that is joined."""
        tree = super()._parse(source, name, filename)
        for loop in list(tree.find_all(nodes.For)):
            loop.iter = nodes.Filter(loop.iter, "counted_", [], [], None, None, lineno=loop.lineno)
        return _with_joins(tree)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805, PYI063 - Jinja's signature
        __self.spend(10)
        owner = getattr(__obj, "__self__", None)
        if isinstance(owner, str) and args:
            name = getattr(__obj, "__name__", "")
            if name == "replace" and len(args) >= 2:
                return _replace(owner, *args)
            if name == "join":
                return _join(args[0], owner)
        return super().call(__context, __obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" or (operator == "%" and isinstance(left, str)):
            raise TooMuch(f"{operator!r} is not allowed here")
        if operator == "*":
            _refuse_growth(left, right)
        elif operator == "+" and hasattr(left, "__len__") and hasattr(right, "__len__"):
            _refuse_size(len(left) + len(right))
        return super().call_binop(context, operator, left, right)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return not (isinstance(obj, str) and attr in _GROWING) and super().is_safe_attribute(obj, attr, value)

    def spend(self, steps: int) -> None:
        """Count steps of the current prompt."""
        self.steps += steps
        if self.steps > MOST_STEPS:
            raise TooMuch(f"the template takes more than {MOST_STEPS:,} steps")

    def _counted(self, items: Iterable[Any]) -> Any:
        """The items of a loop, each counted."""
        if isinstance(items, list | tuple | dict | str):
            self.spend(len(items))
            return items
        return self._counting(items)

    def _counting(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self.spend(1)
            yield item


def _with_joins(tree: nodes.Template) -> nodes.Template:
    """`a ~ b` as a filter with a limit."""

    def change(node: nodes.Node) -> nodes.Node:
        for field, value in list(node.iter_fields()):
            if isinstance(value, list):
                value[:] = [change(item) if isinstance(item, nodes.Node) else item for item in value]
            elif isinstance(value, nodes.Node):
                setattr(node, field, change(value))
        if isinstance(node, nodes.Concat):
            parts = nodes.List(node.nodes, lineno=node.lineno)
            return nodes.Filter(parts, "joined_", [], [], None, None, lineno=node.lineno)
        return node

    changed = change(tree)
    changed.set_environment(tree.environment)  # type: ignore[arg-type]
    assert isinstance(changed, nodes.Template)
    return changed


def _refuse_size(size: int) -> None:
    if size > MOST_TEXT:
        raise TooMuch(f"a text or list would be longer than {MOST_TEXT:,}")


def _refuse_growth(left: Any, right: Any) -> None:
    for text, times in ((left, right), (right, left)):
        if isinstance(text, str | list | tuple) and isinstance(times, int):
            _refuse_size(len(text) * times)
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > 4096:
        raise TooMuch("the number is too large")


def _range(*bounds: int) -> range:
    made = range(*bounds)
    if len(made) > MOST_STEPS:
        raise TooMuch(f"a range of {len(made):,} items; the limit is {MOST_STEPS:,}")
    return made


def _joined(parts: list[Any]) -> str:
    texts = [str(part) for part in parts]
    _refuse_size(sum(map(len, texts)))
    return "".join(texts)


def _join(items: Any, between: str = "", attribute: str | int | None = None) -> str:
    texts = [str(item if attribute is None else _member(item, attribute)) for item in items]
    _refuse_size(sum(map(len, texts)) + len(between) * len(texts))
    return str(between).join(texts)


def _member(item: Any, attribute: str | int) -> Any:
    for part in str(attribute).split("."):
        item = item[int(part) if part.isdigit() and not isinstance(item, dict) else part]
    return item


def _replace(text: Any, old: str, new: str, count: int | None = None) -> str:
    whole, old, new = str(text), str(old), str(new)
    times = whole.count(old) if old else len(whole) + 1
    _refuse_size(len(whole) + times * len(new))
    return whole.replace(old, new, -1 if count is None else count)


# Templates pass the options by position: `indent(4, true)`.
def _indent(text: Any, width: int = 4, first: object = False, blank: object = False) -> str:  # noqa: FBT002 - as above
    if not 0 <= width <= 100:
        raise TooMuch("indent takes at most 100")
    pad = " " * width
    lines = str(text).splitlines()
    _refuse_size(len(str(text)) + len(lines) * width)
    return "\n".join(
        pad + line if (first or number) and (line.strip() or blank) else line for number, line in enumerate(lines)
    )


def _to_json(value: Any, indent: int | None = None) -> str:
    import msgspec

    raw = msgspec.json.encode(value)
    shown: bytes = msgspec.json.format(raw, indent=min(indent, 8)) if indent else raw
    return str(shown, "utf-8")


def _bounded(inner: Any) -> Any:
    """A filter that takes a number, with a limit on that number."""

    def bounded(value: Any, number: int, fill_with: Any = None) -> Any:
        if not 1 <= number <= 10_000:
            raise TooMuch("at most 10,000 at once")
        return inner(value, number, fill_with)

    return bounded
