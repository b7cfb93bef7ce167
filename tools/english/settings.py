"""Prose of configuration: comments of YAML, TOML, Makefiles and the like, and text for people in YAML files."""

import re
from collections.abc import Iterator

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from english.passage import Passage, Writing

# The keys with values for people; the others have replies, patterns and names.
SAID = frozenset({"reason", "hint", "message", "why", "description", "help", "title", "label", "note", "about"})
_COMMENT = re.compile(r"(?:^|\s)(#+\s*)(?![!#])(.*)$")


def comments(source: str) -> Iterator[Passage]:
    """The comments of a file in which `#` begins one."""
    writing, last = Writing(), (0, 0)
    for number, text in enumerate(source.splitlines(), 1):
        match = _COMMENT.search(text)
        if not match or text[: match.start(1)].count('"') % 2 or text[: match.start(1)].count("'") % 2:
            continue
        column = match.start(1)
        if (number, column) != (last[0] + 1, last[1]):
            yield from writing.done()
            writing = Writing()
        writing.add_line(match[2].strip(), number, match.start(2) + 1)
        last = (number, column)
    yield from writing.done()


def _said(node: Node | None, key: str = "") -> Iterator[ScalarNode]:
    if isinstance(node, MappingNode):
        for name, value in node.value:
            yield from _said(value, str(name.value))
    elif isinstance(node, SequenceNode):
        for value in node.value:
            yield from _said(value, key)
    elif isinstance(node, ScalarNode) and key in SAID and " " in str(node.value):
        yield node


def settings(source: str) -> Iterator[Passage]:
    """The comments of a YAML file, and the values that are written for people."""
    yield from comments(source)
    try:
        documents = list(YAML(typ="safe", pure=True).compose_all(source))
    except YAMLError:
        return  # a template of YAML, or a broken one on purpose: its comments are read
    for document in documents:
        for node in _said(document):
            writing = Writing()
            block = node.style in {"|", ">"}
            for index, text in enumerate(str(node.value).splitlines()):
                line = node.start_mark.line + 1 + (index + 1 if block else 0)
                writing.add_line(text.strip(), line, 1 if block else node.start_mark.column + 1)
            yield from writing.done()
