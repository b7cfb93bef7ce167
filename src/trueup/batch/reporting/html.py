"""Puts data into one HTML file that needs no other file.

The data is embedded as JSON. The page's policy blocks every other script and every request, and the page's own script sets all
data as text.
"""

import base64
import hashlib
from importlib import resources
from pathlib import Path
from typing import Any

from trueup.batch.disk.placing import placed
from trueup.batch.judging.records import line_of

# no tag can begin or end inside the data, and no separator can end a line of it
_ESCAPES = (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"))


def render(data: dict[str, Any], name: str = "report", room: str = "") -> str:
    """The page of a name with its data: the parts put together, and a policy that allows only these.

    The page of another `room` is in that room's folder `page`, and adds its own style to the shared one.
    """
    shared = resources.files("trueup.batch.reporting") / "page"
    folder = resources.files(room) / "page" if room else shared
    style = shared.joinpath("report.css").read_text("utf-8")
    page, own = (folder.joinpath(f"{name}.{kind}").read_text("utf-8") for kind in ("html", "js"))
    parts = ("tables.js", "evidence.js") if name == "report" else ("tables.js",)
    script = "".join((*(shared.joinpath(part).read_text("utf-8") for part in parts), own))
    if room:
        style += folder.joinpath(f"{name}.css").read_text("utf-8")
    written = _written(data)
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; style-src-attr 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    pieces: list[str] = []
    rest = page
    for mark, part in (("@POLICY@", policy), ("@STYLE@", style), ("@DATA@", written), ("@SCRIPT@", script)):
        before, _, rest = rest.partition(mark)
        pieces += (before, part)
    return "".join((*pieces, rest))


def written_size(data: dict[str, Any]) -> int:
    """The size in bytes that some data takes in a page."""
    return len(_written(data).encode("utf-8", "surrogatepass"))


def _written(data: dict[str, Any]) -> str:
    text = line_of(data).decode("utf-8", "surrogatepass").strip()
    for sign, escape in _ESCAPES:
        text = text.replace(sign, escape)
    return text


def put_page(path: Path, page: str) -> Path:
    """Write a page whole: an earlier page stays until the new one is complete."""
    with placed(path) as (draft,):
        draft.write(page.encode("utf-8", "surrogatepass"))
    return path


def _digest(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
