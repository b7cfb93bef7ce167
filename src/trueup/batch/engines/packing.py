"""Packs a contract and its files for another machine, and unpacks them there. The packed files are called luggage.

A contract file is packed as the contract that it defines. A contract in a user's own module is packed with that module and the
modules that it imports from the same folder. Settings of storage (endpoints, keys, fsspec's configuration) are included if files
are read from addresses.
"""

import ast
import atexit
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from trueup.batch.input.sources import InputSource
from trueup.batch.judging.contracts import BadContract, ContractSpec

SETTINGS = (
    "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION",
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
    "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN",
)  # fmt: skip


class Luggage(NamedTuple):
    """The luggage: files by their path below `home`, environment variables, and fsspec's configuration."""

    home: str = ""
    files: tuple[tuple[str, bytes], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    filesystems: dict[str, Any] = {}


def pack(spec: ContractSpec, sources: tuple[InputSource, ...]) -> tuple[ContractSpec, Luggage]:
    """The packed contract, and its luggage."""
    files = tuple(_modules(spec)) if spec.named else ()
    settings = _settings() if any("://" in source.path for source in sources) else ((), {})
    return _travelling(spec), Luggage(spec.home, files, *settings)


def unpack(spec: ContractSpec, luggage: Luggage) -> ContractSpec:
    """The contract on this machine. Modules that are missing here, or that differ, are written into a separate folder."""
    os.environ.update(luggage.environment)
    if luggage.filesystems:
        from fsspec.config import conf  # type: ignore[import-untyped]

        conf.update(luggage.filesystems)
    if not all(_is_here(Path(luggage.home, name), content) for name, content in luggage.files):
        home = tempfile.mkdtemp(prefix="trueup-modules-")
        atexit.register(shutil.rmtree, home, ignore_errors=True)
        for name, content in luggage.files:
            path = Path(home, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        spec = spec._replace(home=home)
    return spec


def _travelling(spec: ContractSpec) -> ContractSpec:
    if not spec.path:
        return spec.portable()
    try:  # other machines need not have the file
        return spec._replace(path="").portable()
    except BadContract:
        return spec.portable()


def _is_here(path: Path, content: bytes) -> bool:
    with suppress(OSError):
        return path.read_bytes() == content
    return False


def _settings() -> tuple[tuple[tuple[str, str], ...], dict[str, Any]]:
    variables = tuple((name, os.environ[name]) for name in SETTINGS if name in os.environ)
    try:
        from fsspec.config import conf
    except ImportError:
        return variables, {}
    with suppress(pickle.PicklingError, AttributeError, TypeError):
        pickle.dumps(conf)
        return variables, dict(conf)
    return variables, {}


def _modules(spec: ContractSpec) -> Iterator[tuple[str, bytes]]:
    """The module of a contract and the modules that it imports, if they are files below the folder where the run was started."""
    home = Path(spec.home).resolve()
    left, seen = [spec.named.partition(":")[0]], {"trueup"}
    while left:
        name = left.pop()
        parent = name.rpartition(".")[0]
        if name in seen or name.partition(".")[0] == "trueup":
            continue
        seen.add(name)
        path = _own(name, home)
        if path is None:
            continue
        content = path.read_bytes()
        yield path.relative_to(home).as_posix(), content
        left += [*([parent] if parent else []), *_imports(name, path, content)]


def _own(name: str, home: Path) -> Path | None:
    """The file of a loaded module, if it is the user's own: below the folder, and not installed."""
    given = getattr(sys.modules.get(name), "__file__", None)
    if not given or not given.endswith(".py"):
        return None
    path = Path(given).resolve()
    installed = "site-packages" in path.parts or path.is_relative_to(Path(sys.prefix).resolve())
    return path if path.is_relative_to(home) and not installed else None


def _imports(name: str, path: Path, content: bytes) -> Iterator[str]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names))
