"""Assets: the files of the bundled page, read and compressed once. Their address contains a hash of all of them.

Because the address changes with the content, browsers may cache them forever. `index` is the page itself, for every
view. The sources are in `page/`; `make bundle` bundles them.
"""

import gzip
import hashlib
from functools import cache
from html import escape
from importlib.resources import files
from typing import NamedTuple

_KINDS = {
    "studio.js": "text/javascript; charset=utf-8",
    "studio.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "licences.txt": "text/plain; charset=utf-8",
}
_LEAST = 500  # bytes worth compressing
_BUNDLE = files("trueup.studio") / "bundle"


class Asset(NamedTuple):
    """One file of the page."""

    body: bytes
    packed: bytes
    """Compressed with gzip; empty if that saves nothing."""
    kind: str


@cache
def assets() -> dict[str, Asset]:
    """Every file of the page by its name, without `index.html`."""
    found: dict[str, Asset] = {}
    for name, kind in _KINDS.items():
        body = (_BUNDLE / name).read_bytes()
        found[name] = Asset(body, gzip.compress(body, 9, mtime=0) if len(body) >= _LEAST else b"", kind)
    return found


@cache
def version() -> str:
    """A hash of all assets."""
    digest = hashlib.sha256()
    for name, asset in sorted(assets().items()):
        digest.update(f"{name}\0{len(asset.body)}\0".encode())
        digest.update(asset.body)
    return digest.hexdigest()[:12]


@cache
def _index() -> str:
    return (_BUNDLE / "index.html").read_text("utf-8")


def index(mount: str, nonce: str) -> str:
    """The page; `nonce` lets the editor add its style sheet."""
    where = escape(mount)
    return (
        _index().replace("{mount}", where).replace("{assets}", f"{where}/assets/{version()}").replace("{nonce}", nonce)
    )
