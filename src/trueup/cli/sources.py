"""The option `--source`: names of files enter, the documents that a reply is looked up in leave."""

from pathlib import Path
from typing import Any

from trueup.cli.named import Unavailable, no_file, read_json

_HOW = "name a text file, or a .json file with documents or messages"
_LARGEST = 64_000_000  # bytes of one file


def read_sources(given: tuple[str, ...]) -> Any:
    """The documents by the names of their files; of a single JSON file, what it holds."""
    if len(given) == 1 and given[0].endswith(".json"):
        return read_json("--source", given[0], "source", _HOW)
    return {name: _text(name) for name in given}


def _text(name: str) -> str:
    path = Path(name)
    try:
        if path.stat().st_size > _LARGEST:
            raise Unavailable(f"--source {name}: the file is longer than {_LARGEST:,} bytes")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise Unavailable(f"--source {name}: {no_file(name, _HOW)}") from None
    except IsADirectoryError:
        raise Unavailable(f"--source {name}: that is a directory; {_HOW}") from None
    except UnicodeDecodeError as error:
        raise Unavailable(f"--source {name}: the file is not UTF-8 (byte {error.start})") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise Unavailable(f"--source {name}: cannot be read: {reason}") from None
