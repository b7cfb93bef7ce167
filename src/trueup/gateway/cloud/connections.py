"""Connections to cloud upstreams: addresses and signs their requests, and reads Bedrock's streams. Other upstreams are not
affected.

Keys and tokens, including those that change, are removed from every answer. An upstream without a token counts as failed.
"""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from trueup.ask.clients.request import CallFailure, TransportFailure
from trueup.gateway.client.upstream import PASSED_ON, ForwardRequest, UpstreamConnections, UpstreamResponse
from trueup.gateway.cloud.eventstream import Frames
from trueup.gateway.cloud.sigv4 import SignedAddress, signed
from trueup.gateway.cloud.tokens import Tokens, bearer_of, members_of
from trueup.gateway.config import Access, AwsKeys, Upstream
from trueup.gateway.errors import RefusedRequest

_METADATA = "http://metadata.google.internal"
_METADATA_PATH = "/computeMetadata/v1/instance/service-accounts/default/token"
_decode = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode


class _Sent(NamedTuple):
    """A request as a cloud needs it."""

    path: str
    body: bytes
    headers: dict[str, str]
    secrets: tuple[str, ...] = ()
    is_stream: bool = False


class CloudLine(UpstreamConnections):
    """The connections to all upstreams, some of them in a cloud."""

    def __init__(self, upstreams: Mapping[str, Upstream], limit: int, connections: int = 1000) -> None:
        inner = {_metadata(each.name): _server(each) for each in upstreams.values() if _asks_server(each)}
        super().__init__({**upstreams, **inner}, limit, connections)
        self._tokens: dict[str, Tokens] = {}
        for name, upstream in upstreams.items():
            source = None if upstream.access is None else upstream.access.token
            if source is not None:
                server = inner.get(_metadata(name))
                self._tokens[name] = Tokens(source, None if server is None else _Asking(self, server))

    async def send(
        self, upstream: Upstream, path: str, body: bytes | None, given: Mapping[str, str]
    ) -> UpstreamResponse:
        access = upstream.access
        if access is None or body is None:
            return await super().send(upstream, path, body, given)
        made = await self._made(upstream, access, path, body, given)
        passed = {name: given[name] for name in PASSED_ON & given.keys() if name != "anthropic-beta"}
        start = self._start(upstream, made.path, {**passed, **made.headers}, "POST")
        head = b"%scontent-length: %d\r\n\r\n" % (start, len(made.body))
        reply = await self._sent(upstream, head, made.body, self._limit)
        reply.hide(made.secrets)
        return EventStreamReply(reply) if made.is_stream and reply.status < 300 else reply

    async def forward(self, upstream: Upstream, parcel: ForwardRequest, given: Mapping[str, str]) -> UpstreamResponse:
        if upstream.access is not None:
            said = f"the upstream {upstream.name!r} is used for chat completions and messages only"
            raise RefusedRequest(404, said, code="not_found")
        return await super().forward(upstream, parcel, given)

    async def _made(
        self, upstream: Upstream, access: Access, path: str, body: bytes, given: Mapping[str, str]
    ) -> _Sent:
        token = await self._tokens[upstream.name].get(upstream.name) if upstream.name in self._tokens else ""
        if access.kind == "azure":
            return _azure(access, path, body, bearer_of(token))
        if access.kind == "vertex":
            return _vertex(access, upstream, path, body, bearer_of(token))
        return _bedrock(access, upstream, path, body, printed=token, given=given, host=self._host(upstream))

    def _host(self, upstream: Upstream) -> str:
        """The host as in the request's header."""
        origin = self._origins[upstream.name]
        host = f"[{origin.host}]" if ":" in origin.host else origin.host
        return host if origin.port == (443 if origin.secure else 80) else f"{host}:{origin.port}"


class EventStreamReply(UpstreamResponse):
    """A Bedrock stream, as server-sent events."""

    __slots__ = ("_frames",)

    def __init__(self, reply: UpstreamResponse) -> None:
        for name in UpstreamResponse.__slots__:
            setattr(self, name, getattr(reply, name))
        self._frames = Frames()
        self.is_stream = True

    def let_through(self) -> list[tuple[bytes, bytes]]:
        kind = b"content-type"
        return [(name, b"text/event-stream" if name == kind else value) for name, value in super().let_through()]

    async def pieces(self) -> AsyncIterator[bytes]:
        async for piece in super().pieces():
            events = self._frames.feed(piece)
            if events:
                yield self.clean(events)
        self._frames.end()


class _Asking:
    """Asks a metadata server for a token."""

    def __init__(self, line: UpstreamConnections, server: Upstream) -> None:
        self._line = line
        self._server = server

    async def __call__(self) -> str:
        reply = await UpstreamConnections.send(self._line, self._server, _METADATA_PATH, None, {})
        try:
            if reply.status != 200:
                raise TransportFailure(CallFailure(f"the metadata server answers with status {reply.status}"))
            return (await reply.read()).decode("utf-8", "replace")
        finally:
            reply.close()


def _azure(access: Access, path: str, body: bytes, token: str) -> _Sent:
    """Azure: one path for each deployment, under a version; without a version, the newer paths, which name the model in the
    body.
    """
    headers = {"authorization": f"Bearer {token}"} if token else {"api-key": access.key}
    inner = path.removeprefix("/v1")
    if not access.version:
        return _Sent(f"/openai/v1{inner}", body, headers, (token,))
    where = "/openai"
    if inner == "/chat/completions":
        where += f"/deployments/{quote(_model(_decode(body)), safe='')}"
    return _Sent(f"{where}{inner}?api-version={quote(access.version, safe='')}", body, headers, (token,))


def _vertex(access: Access, upstream: Upstream, path: str, body: bytes, token: str) -> _Sent:
    """Vertex: Anthropic's messages at the path of a model, all others at the OpenAI-compatible endpoint."""
    headers = {"authorization": f"Bearer {token}"}
    where = f"/v1/projects/{quote(access.project, safe='')}/locations/{quote(access.region, safe='')}"
    if upstream.protocol == "openai":
        return _Sent(f"{where}/endpoints/openapi{path.removeprefix('/v1')}", body, headers, (token,))
    asked = _decode(body)
    model = quote(_model(asked), safe="@")
    del asked["model"]
    call = "streamRawPredict" if asked.get("stream") is True else "rawPredict"
    new = {"anthropic_version": "vertex-2023-10-16", **asked}
    return _Sent(f"{where}/publishers/anthropic/models/{model}:{call}", _encode(new), headers, (token,))


def _bedrock(
    access: Access, upstream: Upstream, path: str, body: bytes, *, printed: str, given: Mapping[str, str], host: str
) -> _Sent:
    """Bedrock: Anthropic's messages by InvokeModel, all others at the OpenAI-compatible endpoint."""
    is_stream = False
    if upstream.protocol == "openai":
        path = f"/openai{path}"
    else:
        asked = _decode(body)
        model = quote(_model(asked), safe="")
        is_stream = asked.pop("stream", None) is True
        del asked["model"]
        new = {"anthropic_version": "bedrock-2023-05-31", **asked}
        if given.get("anthropic-beta"):
            new["anthropic_beta"] = [name.strip() for name in given["anthropic-beta"].split(",")]
        body = _encode(new)
        path = f"/model/{model}/invoke{'-with-response-stream' if is_stream else ''}"
    if access.key:
        return _Sent(path, body, {"authorization": f"Bearer {access.key}"}, (), is_stream)
    keys = _keys(printed, upstream.name) if printed else access.aws
    assert keys is not None, "a bedrock upstream has a key, keys of AWS, or a command that prints them"
    headers = signed(SignedAddress(host, path, access.region), body, {}, keys, datetime.now(UTC))
    return _Sent(path, body, headers, (keys.secret_key, keys.session_token), is_stream)


def _keys(printed: str, upstream: str) -> AwsKeys:
    """The credentials that a command printed, in the form of `credential_process`."""
    body = members_of(printed)
    keys = AwsKeys(
        str(body.get("AccessKeyId") or ""), str(body.get("SecretAccessKey") or ""), str(body.get("SessionToken") or "")
    )
    if not keys.access_key or not keys.secret_key:
        said = f"upstream {upstream!r}: no token (its command printed no AccessKeyId and SecretAccessKey)"
        raise TransportFailure(CallFailure(said, code="token", unsent=True))
    return keys


def _model(body: dict[str, Any]) -> str:
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise RefusedRequest(400, "'model' must be the name of a model", code="missing_required_parameter")
    return model


def _metadata(name: str) -> str:
    return f"{name} metadata"


def _asks_server(upstream: Upstream) -> bool:
    return upstream.access is not None and upstream.access.token is not None and upstream.access.token.metadata


def _server(upstream: Upstream) -> Upstream:
    headers = {"metadata-flavor": "Google"}
    assert upstream.access is not None
    return Upstream(_metadata(upstream.name), upstream.access.server or _METADATA, private=True, headers=headers)
