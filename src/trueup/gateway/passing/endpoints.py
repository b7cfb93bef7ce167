"""The endpoints that are passed through in addition to the three protocols, found by path and method.

One table lists them: where the model is named, whether a reply can contain text that a model wrote, and whether it is about
something that the upstream keeps under our key. A path may contain an id only where the table has one; nothing else is sent
on.
"""

import re
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl, urlencode

from trueup.gateway.config import Speaks
from trueup.gateway.errors import RefusedRequest

Carries = Literal["nothing", "json", "form", "upload"]
_ID = re.compile(r"[A-Za-z0-9_:-][A-Za-z0-9_.:-]{0,199}")
_PAGES = ("limit", "order", "after", "after_id", "before_id")
_MOST_QUERY = 2000


class Endpoint(NamedTuple):
    """One method of one path."""

    group: str  # its name in `endpoints` of the gateway's file
    method: str
    path: str  # after `/v1/`; `*` is an id
    carries: Carries = "nothing"  # what its body is
    speaks: Speaks | None = "openai"  # None: either, as the client's headers say
    generates: bool = False  # a reply may contain text, images or speech that a model made
    kept: bool = False  # about something that the upstream keeps, so its owner must be known
    large: bool = False  # a reply may be as large as a file
    query: tuple[str, ...] = ()  # the parameters that are passed on
    many: bool = False  # its body contains requests, each with a model

    @property
    def names_models(self) -> bool:
        """Whether a request must name the model that writes the reply's content."""
        return self.generates and (self.many or not self.kept)


ENDPOINTS = (
    Endpoint("embeddings", "POST", "embeddings", "json", large=True),
    Endpoint("moderations", "POST", "moderations", "json"),
    Endpoint("count_tokens", "POST", "messages/count_tokens", "json", "anthropic", query=("beta",)),
    Endpoint("count_tokens", "POST", "responses/input_tokens", "json"),
    Endpoint("completions", "POST", "completions", "json", generates=True),
    Endpoint("images", "POST", "images/generations", "json", generates=True, large=True),
    Endpoint("images", "POST", "images/edits", "form", generates=True, large=True),
    Endpoint("images", "POST", "images/variations", "form", generates=True, large=True),
    Endpoint("audio", "POST", "audio/speech", "json", generates=True, large=True),
    Endpoint("audio", "POST", "audio/transcriptions", "form", generates=True),
    Endpoint("audio", "POST", "audio/translations", "form", generates=True),
    Endpoint("files", "POST", "files", "upload", None, kept=True, query=("beta",)),
    Endpoint("files", "GET", "files", speaks=None, kept=True, query=("beta", "purpose", *_PAGES)),
    Endpoint("files", "GET", "files/*", speaks=None, kept=True, query=("beta",)),
    Endpoint("files", "DELETE", "files/*", speaks=None, kept=True, query=("beta",)),
    Endpoint("files", "GET", "files/*/content", "nothing", None, generates=True, kept=True, large=True, query=("beta",)),
    Endpoint("batches", "POST", "batches", "json", generates=True, kept=True),
    Endpoint("batches", "GET", "batches", kept=True, query=_PAGES),
    Endpoint("batches", "GET", "batches/*", kept=True),
    Endpoint("batches", "POST", "batches/*/cancel", kept=True),
    Endpoint("batches", "POST", "messages/batches", "json", "anthropic", generates=True, kept=True, query=("beta",), many=True),
    Endpoint("batches", "GET", "messages/batches", "nothing", "anthropic", kept=True, query=("beta", *_PAGES)),
    Endpoint("batches", "GET", "messages/batches/*", "nothing", "anthropic", kept=True, query=("beta",)),
    Endpoint("batches", "DELETE", "messages/batches/*", "nothing", "anthropic", kept=True, query=("beta",)),
    Endpoint("batches", "POST", "messages/batches/*/cancel", "nothing", "anthropic", kept=True, query=("beta",)),
    Endpoint("batches", "GET", "messages/batches/*/results", "nothing", "anthropic", generates=True, kept=True, large=True, query=("beta",)),
    Endpoint("responses", "GET", "responses/*", generates=True, kept=True,
             query=("include", "include[]", "stream", "starting_after", "include_obfuscation")),
    Endpoint("responses", "DELETE", "responses/*", kept=True),
    Endpoint("responses", "POST", "responses/*/cancel", generates=True, kept=True),
    Endpoint("responses", "GET", "responses/*/input_items", generates=True, kept=True, query=("include", "include[]", *_PAGES)),
)  # fmt: skip
GROUPS = tuple(dict.fromkeys(each.group for each in ENDPOINTS))
KEPT = frozenset(each.group for each in ENDPOINTS if each.kept)
_TABLE: dict[str, dict[str, Endpoint]] = {}
for _each in ENDPOINTS:
    _TABLE.setdefault(_each.path, {})[_each.method] = _each


class MatchedPath(NamedTuple):
    """A path that matches an endpoint."""

    route: str  # the name of the route in the path; empty: none
    path: str  # the part to send on, without the query
    methods: dict[str, Endpoint]


def place_of(path: str) -> MatchedPath | None:
    """The endpoint that a path names: `/v1/…`, or `/NAME/v1/…`; None if there is none.

    >>> place_of("/salon/v1/files/file-1/content").path, place_of("/v1/files/../admin"), place_of("/v1/models")
    ('/v1/files/file-1/content', None, None)
    """
    name, parts = "", path.split("/")[1:]
    if len(parts) > 2 and parts[0] != "v1":
        name, parts = parts[0], parts[1:]
        if not name:
            return None
    if len(parts) < 2 or len(parts) > 5 or parts[0] != "v1":
        return None
    rest = parts[1:]
    for form in ("/".join(rest), *_forms(rest)):
        methods = _TABLE.get(form)
        if methods is not None:
            return MatchedPath(name, f"/v1/{'/'.join(rest)}", methods)
    return None


def _forms(rest: list[str]) -> list[str]:
    """The path with every part that can be an id replaced by `*`."""
    return ["/".join([*rest[:at], "*", *rest[at + 1 :]]) for at in (1, 2) if at < len(rest) and _ID.fullmatch(rest[at])]


def query_of(endpoint: Endpoint, raw: bytes) -> str:
    """The query to send on, with its question mark; an unknown parameter is refused."""
    if not raw:
        return ""
    if len(raw) > _MOST_QUERY:
        raise RefusedRequest(400, f"the query has more than {_MOST_QUERY:,} bytes", code="invalid_value")
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, strict_parsing=True, max_num_fields=50)
    except ValueError as error:
        raise RefusedRequest(400, f"the query cannot be read: {str(error)[:100]}", code="invalid_value") from None
    for name, _ in pairs:
        if name not in endpoint.query:
            known = f"known: {', '.join(endpoint.query)}" if endpoint.query else "this endpoint has none"
            raise RefusedRequest(
                400, f"unknown parameter {name[:100]!r} in the query; {known}", code="unknown_parameter"
            )
    return f"?{urlencode(pairs)}" if pairs else ""
