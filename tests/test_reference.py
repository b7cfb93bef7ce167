"""The reference of the Python API is complete: every public name is on its page, and each has a sentence.

Public names are those that `trueup` exports, and those that the documentation imports from a submodule or names by full path. A
name has a docstring. A parameter, an option or a field has its own docstring, or a sentence in the docstring of its function or
class; if its default is an empty value or the name of a constant, the sentence says what that means. A docstring may point to
another: "`context` and `cancel` are the same as for `ask`".
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import griffe
import pytest
import yaml

import trueup
from tools import pages
from tools.doctests import DocumentedOptions
from trueup.checks.reply import compile_reply
from trueup.checks.rules import compile_rules
from trueup.contract.files import parts
from trueup.contract.files.shape import file_schema

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "api.md"
# The pages for users. Pages about this repository may import anything.
PAGES = [
    ROOT / "README.md", ROOT / "docs" / "index.md", ROOT / "docs" / "tutorial.md",
    *(page for folder in ("tutorial", "howto", "coming-from", "reference") for page in (ROOT / "docs" / folder).rglob("*.md")),
]  # fmt: skip
# Methods of `Contract` that only other rooms of this package call.
DOORS = frozenset(
    "arguments_of call_options claims clean early forbids given_tools guide item_contract judges_meaning meaning member_errors ordered_tools short_way unplaced".split()
)

_DIRECTIVE = re.compile(r"^::: ([\w.]+)\n((?:    .*\n|\n(?=    ))*)", re.MULTILINE)
_BLOCK = re.compile(r"^( *)```(?:python|pycon)\b.*?\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"^ *(?:>>> |\.\.\. )?", re.MULTILINE)
_IMPORT = re.compile(r"^\s*from (trueup(?:\.\w+)+) import (\([^)]*\)|[^\n#]+)", re.MULTILINE)
_DEFINED = re.compile(r"^(?:async def|def|class) ([A-Za-z]\w*)", re.MULTILINE)
_FULL = re.compile(r"`(trueup(?:\.\w+){2,})\b")
_BREAK = re.compile(r"\n\n|\n(?=- )")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_REFERENCE = re.compile(r"\b(?:of|as|in|for|[Ll]ike) `((?:\w+\.)*\w+)`")
_SAYS_NOTHING = re.compile(
    r"\b(?:default|without|none|unless|if|empty|otherwise|where|not|optional|no|all|any|every|only)\b", re.IGNORECASE
)
# Defaults that explain nothing: an empty value, or the name of a constant.
_MUTE = re.compile(r"None|''|\"\"|\(\)|\{\}|\[\]|_?[A-Z][A-Z_]+")


def file_of(module: str) -> Path | None:
    """The file of a module of this package."""
    path = (ROOT / "src").joinpath(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@cache
def visited(module: str) -> griffe.Module:
    file = file_of(module)
    assert file is not None
    found = griffe.visit(module, file, file.read_text("utf-8"), extensions=griffe.Extensions(DocumentedOptions()))
    assert isinstance(found, griffe.Module)
    return found


def find(path: str) -> Any:
    """The object at a full path; None if there is none."""
    module, _, name = path.rpartition(".")
    if file_of(path):
        return visited(path)
    if not module:
        return None
    if file_of(module):
        return visited(module).members.get(name)
    owner = find(module)
    return None if owner is None else owner.members.get(name)


def directives() -> dict[str, Any]:
    """The names on the page, each with the members that it lists, or None for all of them."""
    found = {}
    for path, options in _DIRECTIVE.findall(PAGE.read_text("utf-8")):
        given = yaml.safe_load(options) if options.strip() else {}
        found[path] = given.get("options", {}).get("members")
    return found


def exported() -> Iterator[str]:
    """The names that `trueup` exports, with their modules."""
    for name in trueup.__all__:
        if not name.startswith("__"):
            yield f"{trueup._HOMES[name]}.{name}"


def imported() -> Iterator[str]:
    """The names that the documentation imports from submodules, and the other classes of these modules that the same page names."""
    for page in PAGES:
        text = page.read_text("utf-8")
        modules = set()
        for _, block in _BLOCK.findall(text):
            for module, names in _IMPORT.findall(_PROMPT.sub("", block)):
                modules.add(module)
                yield from (f"{module}.{name.split()[0]}" for name in names.strip("() \n").split(",") if name.strip())
        yield from (
            f"{module}.{name}"
            for module in modules
            for name in defined(module)
            if name[0].isupper() and re.search(rf"`{name}[(`]", text)
        )
        for path in _FULL.findall(text):
            module, _, name = path.rpartition(".")
            if name in defined(module):
                yield path


@cache
def defined(module: str) -> frozenset[str]:
    """The classes and functions that a module defines, those with an underscore aside."""
    file = file_of(module)
    return frozenset(_DEFINED.findall(file.read_text("utf-8")) if file else ())


PUBLIC = sorted({*exported(), *imported()})
SHOWN = directives()


@pytest.mark.parametrize("path", PUBLIC)
def test_every_public_name_is_on_the_page(path: str) -> None:
    if file_of(path) is None:
        assert path in SHOWN, f"add `::: {path}` to docs/reference/api.md"


def test_every_method_of_a_contract_is_on_the_page_or_a_door() -> None:
    contract = find("trueup.contract.contract.Contract")
    methods = {name for name, member in contract.members.items() if name[0] != "_" and not is_data(member)}
    assert methods - DOORS == set(SHOWN[contract.path])


def test_defaults_are_shown() -> None:
    options = re.findall(r"show_(\w+): (\w+)", (ROOT / "mkdocs.yml").read_text("utf-8"))
    assert dict(options) | {"attribute_values": "true", "signature_annotations": "true"} == dict(options)


def is_data(member: Any) -> bool:
    return isinstance(member, griffe.Attribute) and "property" not in member.labels


def words(found: Any) -> str:
    return found.docstring.value if found is not None and found.docstring is not None else ""


def members(found: Any) -> dict[str, Any]:
    """The public members of a class, of its base classes in this package too; those that the page names, if it does."""
    named = SHOWN.get(found.path)
    own = {}
    for base in reversed([found, *bases(found)]):
        own.update({name: each for name, each in base.members.items() if name[0] != "_" and not each.is_alias})
    return own if named is None else {name: own[name] for name in named}


def bases(found: Any) -> list[Any]:
    """The base classes that are defined in trueup."""
    out = []
    for base in found.bases:
        path = base if isinstance(base, str) else getattr(base, "canonical_path", "")
        one = find(path) if path.startswith("trueup.") else None
        if isinstance(one, griffe.Class):
            out += [one, *bases(one)]
    return out


def parameters(function: Any) -> Iterator[tuple[str, str]]:
    """The parameters of a function with their defaults; the keys of a TypedDict where `**options` takes one."""
    for parameter in function.parameters:
        annotation = str(parameter.annotation or "")
        unpacked = re.search(r"Unpack\[(\w+)\]", annotation)
        if unpacked:
            table = find(f"trueup.contract.options.{unpacked[1]}") or find(
                f"trueup.contract.option_types.{unpacked[1]}"
            )
            names = [name for each in (table, *bases(table)) for name in each.members]
            yield from ((name, "") for name in names)
        elif parameter.name not in ("self", "cls"):
            varying = parameter.kind in (griffe.ParameterKind.var_positional, griffe.ParameterKind.var_keyword)
            yield parameter.name, "" if varying else str(parameter.default or "")


def about(name: str, text: str) -> str:
    """The sentences and list items of a docstring that name something."""
    parts = [[part] if part.startswith("- ") else _SENTENCE.split(part) for part in _BREAK.split(text)]
    named = re.compile(rf"`\*{{0,2}}{name}\b[^`]*`")
    return " ".join(part for listed in parts for part in listed if named.search(part))


def pointed(text: str, name: str, seen: frozenset[str] = frozenset()) -> str:
    """The sentences about a name in the functions and classes that a docstring points to, and in those that they point to."""
    said = []
    for other in _REFERENCE.findall(text):
        for docstring in by_name(other) if other not in seen else ():
            said += [about(name, docstring), pointed(docstring, name, seen | {other})]
    return " ".join(filter(None, said))


@cache
def by_name(name: str) -> tuple[str, ...]:
    """The docstrings of everything on the page with a name such as `Contract`, `ask` or `Contract.ask`."""
    out = []
    for path in SHOWN:
        found = find(path)
        inside = members(found) if isinstance(found, griffe.Class) else {}
        if path.endswith(f".{name}"):
            fields = [f"- `{each.name}`: {words(each)}" for each in inside.values() if is_data(each) and words(each)]
            out.append("\n".join([words(found), "", *fields]))
        out += [words(each) for each in inside.values() if f"{path}.{each.name}".endswith(f".{name}")]
    return tuple(out)


def gaps(path: str) -> Iterator[str]:
    """The names that the page does not describe."""
    found = find(path)
    if found is None:
        yield f"{path} does not exist"
        return
    if not words(found).strip():
        yield f"{path} has no docstring"
    if isinstance(found, griffe.Class):
        init = found.members.get("__init__")
        if isinstance(init, griffe.Function) and not init.is_alias:
            yield from function_gaps(init, words(found) + "\n\n" + words(init), path)
        for name, member in members(found).items():
            if is_data(member):
                yield from field_gaps(member, found, f"{path}.{name}")
            elif not words(member).strip():
                yield f"{path}.{name} has no docstring"
            elif isinstance(member, griffe.Function):
                yield from function_gaps(member, words(member), f"{path}.{name}")
    elif isinstance(found, griffe.Function):
        yield from function_gaps(found, words(found), path)


def function_gaps(function: Any, text: str, path: str) -> Iterator[str]:
    for name, default in parameters(function):
        said = about(name, text)
        more = pointed(text, name)
        if not said and not more:
            yield f"{path}: no sentence about the parameter `{name}`"
        elif _MUTE.fullmatch(default) and not _SAYS_NOTHING.search(said) and not _SAYS_NOTHING.search(more):
            yield f"{path}: the sentence about `{name}` does not say what its default {default} means: {said!r}"


def field_gaps(field: Any, owner: Any, path: str) -> Iterator[str]:
    said = words(field) or about(field.name, words(field.parent)) or about(field.name, words(owner))
    said = said or pointed(words(owner), field.name)
    if not said:
        yield f"{path} has no sentence"
    elif "class-attribute" in field.labels and _MUTE.fullmatch(str(field.value)) and not _SAYS_NOTHING.search(said):
        yield f"{path}: its sentence does not say what its default {field.value} means: {said!r}"


@pytest.mark.parametrize("path", sorted({*PUBLIC, *SHOWN}))
def test_every_name_option_and_default_has_a_sentence(path: str) -> None:
    found = list(gaps(path))
    assert not found, "\n".join(["add what is missing to the docstring:", *found])


def test_a_gap_is_found() -> None:
    """The checks themselves: each kind of gap in a small module."""
    code = '''
class Bare:
    field: int = 1

class Half:
    """Half; `named` is here."""
    named: int = 1
    quiet: str = ""
    """Some text."""
    def act(self, one, two=None):
        """Act on `one`; `two` is the second."""
'''
    module: Any = griffe.visit("sample", Path("sample.py"), code)
    half = module["Half"]
    assert list(field_gaps(module["Bare.field"], module["Bare"], "Bare.field")) == ["Bare.field has no sentence"]
    assert not list(field_gaps(half["named"], half, "Half.named"))
    assert "what its default" in next(field_gaps(half["quiet"], half, "Half.quiet"))
    assert ["what its default None means" in gap for gap in function_gaps(half["act"], words(half["act"]), "act")] == [
        True
    ]


def tables(shape: Any) -> Iterator[dict[str, Any]]:
    """The keys of every table that a contract file may contain, at any depth."""
    for part in shape.values() if isinstance(shape, dict) else shape if isinstance(shape, list) else ():
        yield from tables(part)
    if isinstance(shape, dict) and isinstance(shape.get("properties"), dict):
        yield shape["properties"]


def test_every_key_of_a_contract_has_a_sentence_and_is_on_the_page() -> None:
    page = pages.options_page()
    found = list(tables(file_schema()))
    assert len(found) > 15
    for table in found:
        for key, shape in table.items():
            assert shape.get("description", "").endswith("."), key
            assert f"| `{key}` |" in page


def test_the_defaults_of_keys_are_those_of_their_parts() -> None:
    usual = compile_reply(True, {}).settings
    shown = parts.REPLY["anyOf"][1]["properties"]
    assert (shown["min_text"]["default"], shown["min_explanation"]["default"]) == (
        usual.min_text,
        usual.min_explanation,
    )
    assert (shown["lenient"]["default"], usual.off) == (usual.lenient, frozenset())
    assert parts.RULES["anyOf"][1]["properties"]["budget"]["default"] == compile_rules([]).budget
