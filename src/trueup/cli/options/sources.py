"""The option `--source`: turns names of files into the documents in which a reply's values are looked up."""

from typing import Any

from trueup.cli.options.references import read_json, read_text

_HOW = "name a text file, or a .json file with documents or messages"
_LARGEST = 64_000_000  # bytes per file


def read_sources(given: tuple[str, ...]) -> Any:
    """The documents by the names of their files. For a single JSON file, its contents."""
    if len(given) == 1 and given[0].endswith(".json"):
        return read_json("--source", given[0], "source", _HOW)
    return {name: read_text("--source", name, _HOW, most=_LARGEST).removeprefix("\ufeff") for name in given}
