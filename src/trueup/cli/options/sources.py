"""The option `--source`: names of files enter, the documents that a reply is looked up in leave."""

from typing import Any

from trueup.cli.options.references import read_json, read_text

_HOW = "name a text file, or a .json file with documents or messages"
_LARGEST = 64_000_000  # bytes of one file


def read_sources(given: tuple[str, ...]) -> Any:
    """The documents by the names of their files; of a single JSON file, what it holds."""
    if len(given) == 1 and given[0].endswith(".json"):
        return read_json("--source", given[0], "source", _HOW)
    return {name: read_text("--source", name, _HOW, most=_LARGEST).removeprefix("\ufeff") for name in given}
