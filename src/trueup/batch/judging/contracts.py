"""Makes the contract of a run from a path, `module:name`, or the options of a Contract.

A `ContractSpec` can be sent to other processes and machines, and its hash identifies the contract. A contract that cannot be used raises
`BadContract`, which says why.
"""

import hashlib
import importlib
import pickle
import sys
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from trueup import __version__


class BadContract(ValueError):
    """The contract cannot be used. The message says what is wrong, where, and what to do."""


class ContractSpec(NamedTuple):
    """How to make a contract: from a file, from `module:name` in the folder `home`, or from options. `held` is a contract that
    exists already.
    """

    path: str = ""
    named: str = ""
    options: dict[str, Any] | None = None
    name: str = ""
    digest: str = ""
    home: str = ""
    held: Any = None

    def open(self) -> Any:
        """The contract."""
        if self.held is not None:
            return self.held
        if self.named:
            return _imported(self.named, self.home)
        return _loaded(Path(self.path)) if self.path else _made(self.options or {}, self.name)

    @property
    def travels(self) -> bool:
        """Whether it can be sent to another process."""
        try:
            self.portable()
        except BadContract:
            return False
        return True

    def portable(self) -> "ContractSpec":
        """The same spec, in a form for another process."""
        if not (self.path or self.named or self.options is not None):
            try:
                pickle.dumps(self.held)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise BadContract(
                    f"this contract cannot be sent to another process ({error}); give a file or module:name"
                ) from None
            return self
        return self._replace(held=None, path=str(Path(self.path).absolute()) if self.path else "")


def spec_of(given: Any = None, *, options: dict[str, Any] | None = None) -> ContractSpec:
    """The spec of what a caller gives as a contract: a path, `module:name`, a Contract, or the options of one.

    >>> spec_of(options={"schema": {"type": "object"}}).open().check("{}").ok
    True
    """
    if given is None:
        spec = ContractSpec(options=options or {}, name=_named(options or {}))
    elif isinstance(given, str | Path):
        text = str(given)
        module, colon, _ = text.partition(":")
        if colon and module.replace(".", "").isidentifier() and not Path(text).exists():
            spec = ContractSpec(named=text, name=text, home=str(Path.cwd()))
        else:
            spec = ContractSpec(path=text, name=Path(text).name)
    elif hasattr(given, "check"):
        spec = ContractSpec(held=given, name=str(getattr(given, "name", "") or "contract"))
    else:
        raise BadContract(f"a contract is a path, module:name or a Contract, not {type(given).__name__}")
    contract = spec.open()
    return spec._replace(held=contract, digest=_digest(spec, contract))


def _loaded(path: Path) -> Any:
    from trueup.contract.contract import Contract

    if not path.exists():
        raise BadContract(f"{path}: there is no such contract file")
    if path.is_dir():
        raise BadContract(f"{path}: that is a directory; name a contract file")
    schema = _bare_schema(path)
    if schema is not None:
        return _made({"schema": schema}, path.name)
    try:
        return Contract.load(path)
    except ValueError as error:
        raise BadContract(str(error) if path.name in str(error) else f"{path}: {error}") from None


def _bare_schema(path: Path) -> Any:
    """The JSON Schema in a file that is a schema rather than a contract; None for other files."""
    if path.suffix.lower() != ".json":
        return None
    try:
        found = orjson.loads(path.read_bytes())
    except ValueError:
        return None
    if not isinstance(found, dict) or "schema" in found:
        return None
    words = {
        "$schema",
        "$id",
        "$ref",
        "$defs",
        "type",
        "properties",
        "anyOf",
        "oneOf",
        "allOf",
        "enum",
        "const",
        "items",
    }
    return found if not words.isdisjoint(found) else None


def _made(options: dict[str, Any], name: str) -> Any:
    from trueup.contract.contract import Contract

    try:
        return Contract(**options)
    except (ValueError, TypeError) as error:
        raise BadContract(f"{name}: {error}" if name else str(error)) from None


def _imported(named: str, home: str) -> Any:
    """The object that `module:name` refers to. The folder where the run was started is searched first."""
    module, _, name = named.partition(":")
    if home not in sys.path:
        sys.path.insert(0, home)
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        raise BadContract(
            f"{named}: there is no module {error.name!r} (searched in {home} and on Python's path)"
        ) from None
    except Exception as error:  # noqa: BLE001 - what a user's module raises on import can be anything
        raise BadContract(f"{named}: {type(error).__name__}: {error}") from None
    if callable(getattr(found, "check", None)):
        return found
    return _made({"schema": found}, named)


def _named(options: dict[str, Any]) -> str:
    return str(options.get("name", ""))


def _digest(spec: ContractSpec, contract: Any) -> str:
    """The hash that identifies a contract: of its file, its options, its schema, and the version that judges."""
    parts: list[bytes] = [__version__.encode(), spec.named.encode()]
    if spec.path:
        parts.append(_content(Path(spec.path)))
    parts.append(_plain(spec.options))
    schema = getattr(contract, "schema", None)
    parts.append(_plain(getattr(schema, "source", None)))
    options = [repr(getattr(contract, name, "")) for name in ("accept", "options", "strict", "max_size", "max_depth")]
    parts.append("|".join(options).encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _content(path: Path) -> bytes:
    """The bytes of a contract file and of all files that it extends; for a schema file, its own bytes."""
    if _bare_schema(path) is not None:
        return path.read_bytes()
    from trueup.contract.files.extends import read_whole

    return _plain(read_whole(path).data)


def _plain(value: Any) -> bytes:
    return orjson.dumps(value, default=repr, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
