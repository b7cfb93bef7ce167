"""Renders a prompt from a template and the fields of a unit, or raises a `PromptError` for that unit alone.

Templates are Jinja2 in a sandbox, and every name in them must be known. Text that a model wrote is only ever a value: it is
inserted unchanged, and never read as a template.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueup.verdict.extras import install

if TYPE_CHECKING:
    from jinja2 import Template, nodes

MOST_SOURCE = 500_000  # characters of a template
MOST_PROMPT = 10_000_000  # characters of a prompt

# The errors of Python for an operation that a value does not support.
_MISUSE = (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError, AttributeError)


class PromptError(ValueError):
    """A template does not give a prompt. `line` is the place if it is known, and `template` is the name if it is another template."""

    def __init__(self, message: str, line: int | None = None, template: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.template = template


class Prompts:
    """The templates of a folder, each compiled once."""

    def __init__(self, folder: Path) -> None:
        try:
            from trueup.batch.pipeline.prompts.sandbox import Sandbox
        except ImportError:
            raise PromptError(f"prompts need Jinja2: {install('pipelines')}") from None
        self._sandbox = Sandbox(folder)
        self._compiled: dict[str, Template] = {}

    def compile(self, name: str) -> "Template":
        """The template with that name, or a PromptError that says why there is none."""
        found = self._compiled.get(name)
        if found is None:
            found = self._compiled[name] = self._load(name)
        return found

    def render(self, name: str, fields: Mapping[str, Any]) -> str:
        """Render the prompt of a template with the fields of a unit."""
        from jinja2 import TemplateError

        template = self.compile(name)
        self._sandbox.steps = 0
        pieces: list[str] = []
        size = 0
        try:
            for piece in template.generate(fields):
                pieces.append(piece)
                size += len(piece)
                if size > MOST_PROMPT:
                    break
        except TemplateError as error:
            raise PromptError(error.message or type(error).__name__, _line_of(error, template)) from None
        except _MISUSE as error:
            raise PromptError(f"{type(error).__name__}: {str(error)[:200]}", _line_of(error, template)) from None
        if size > MOST_PROMPT:
            raise PromptError(f"the prompt is longer than {MOST_PROMPT:,} characters")
        return "".join(pieces)

    def names(self, name: str) -> dict[str, str]:
        """The fields that a template needs, each with the template that uses it: itself, or one that it includes or extends.

        Fields that it sets itself, or tests with `is defined` or `default`, are not needed.
        """
        needed: dict[str, str] = {}
        waiting: list[tuple[str, str, frozenset[str]]] = [(name, "", frozenset())]
        seen: set[str] = set()
        while waiting:
            name, taken_by, given = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            tree, fields = self._parsed(name, taken_by)
            for field in sorted(fields - _tested(tree) - given):
                needed.setdefault(field, name)
            waiting += [(other, name, given | _stored(tree)) for other in _parts(tree)]
        return needed

    def _parsed(self, name: str, taken_by: str) -> "tuple[nodes.Template, set[str]]":
        """The tree of a template, and the names that it uses and does not set."""
        from jinja2 import TemplateError, TemplateNotFound, TemplateSyntaxError, meta

        try:
            tree = self._sandbox.parse(self._source(name))
            return tree, meta.find_undeclared_variables(tree)
        except TemplateNotFound:
            raise PromptError(f"there is no template {name!r}, which {taken_by!r} names") from None
        except TemplateSyntaxError as error:
            raise PromptError(error.message or "it does not parse", error.lineno, name) from None
        except TemplateError as error:
            raise PromptError(error.message or str(error)) from None
        except (UnicodeDecodeError, RecursionError, OSError) as error:
            raise PromptError(f"the template {name!r} cannot be read: {error}") from None

    def _source(self, name: str) -> str:
        loader = self._sandbox.loader
        assert loader is not None
        return loader.get_source(self._sandbox, name)[0]

    def _load(self, name: str) -> "Template":
        from jinja2 import TemplateError, TemplateNotFound, TemplateSyntaxError

        try:
            source = self._source(name)
            if len(source) > MOST_SOURCE:
                raise PromptError(f"the template has {len(source):,} characters; the limit is {MOST_SOURCE:,}")
            return self._sandbox.get_template(name)
        except TemplateNotFound:
            raise PromptError(f"there is no template {name!r}") from None
        except TemplateSyntaxError as error:
            raise PromptError(error.message or "it does not parse", error.lineno) from None
        except TemplateError as error:
            raise PromptError(error.message or "it does not parse") from None
        except (UnicodeDecodeError, RecursionError, OSError) as error:
            raise PromptError(f"the template cannot be read: {error}") from None


def _tested(tree: Any) -> set[str]:
    """The names that a template allows to be missing, with `is defined`, `is undefined` or the filter `default`."""
    from jinja2 import nodes

    tests = [test.node for test in tree.find_all(nodes.Test) if test.name in {"defined", "undefined"}]
    filters = [one.node for one in tree.find_all(nodes.Filter) if one.name in {"default", "d"}]
    return {node.name for node in (*tests, *filters) if isinstance(node, nodes.Name)}


def _parts(tree: Any) -> list[str]:
    """The templates that a template always includes: by name, and not only if they exist."""
    from jinja2 import nodes

    taken = [node.template for node in tree.find_all(nodes.Extends)]
    taken += [node.template for node in tree.find_all(nodes.Include) if not node.ignore_missing]
    return [node.value for node in taken if isinstance(node, nodes.Const) and isinstance(node.value, str)]


def _stored(tree: Any) -> set[str]:
    """The names that a template sets, including in loops and macros, and those that it tests before others use them."""
    from jinja2 import nodes

    stored = {node.name for node in tree.find_all(nodes.Name) if node.ctx in {"store", "param"}}
    return stored | {node.name for node in tree.find_all(nodes.Macro)} | _tested(tree)


def _line_of(error: BaseException, template: "Template") -> int | None:
    """The line of the template in which an error occurred. Jinja2 puts it into the traceback."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == template.filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def fields_of(unit: Mapping[str, Any], config: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """The values that a template may use: the fields of the unit and the configuration, both overridden by the shared context."""
    return {**unit, "config": config, **shared}
