"""Estimates of tokens: of a request before it is sent, and of a reply that the provider did not count.

Takes a request: messages with their images and files, the schema, the tools and the parameters. Returns how many tokens it has at least,
probably and at most. With a tokenizer, all three are the same count. Without one, the number of UTF-8 bytes is the upper limit, because a
token has at least one byte. Nothing is downloaded: tiktoken is used only if its file for the model is already on this machine.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from trueup.ask.clients.request import Request
from trueup.ask.policy import Policy
from trueup.ask.shapes.parts import Media
from trueup.read.objects import as_dict
from trueup.verdict.codec import written
from trueup.verdict.reply import Reply

Counter = Callable[[str], int]
Kept = Literal["", "short", "long"]  # how long the provider caches a part: not at all, for minutes, for an hour
_BYTES = 3  # per token, in English text, code and most other scripts; a low estimate
_MESSAGE = 4  # tokens that a provider adds for each message, and for each call in it
_START = 3  # tokens that a provider adds for the start of the reply
_IMAGE = (
    1_000,
    5_000,
)  # tokens of an image, probably and at most: providers count them by size, which is not known here
_SMALL = (85, 300)  # for an image in low detail
_DEEP = 40  # levels of a message that are searched
_HIDDEN = frozenset({"extra_headers", "headers", "api_key", "timeout", "user", "metadata"})  # not read by models
_KEEPING = ("cache_control", "cachePoint")  # marks for the cache, of Anthropic and Bedrock
_MEDIA = frozenset({"data", "url", "uri", "file_uri", "fileUri", "file_data", "bytes", "image_url", "file_id"})
# tiktoken's files: the URL and the sha256 of each. tiktoken downloads a file with another sha256 again.
_FILES = {
    "cl100k_base": ("cl100k_base", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
    "o200k_base": ("o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
    "o200k_harmony": ("o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
}
_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"


class TokenEstimate(NamedTuple):
    """How many tokens a request has: at least, probably, and at most."""

    least: int
    likely: int
    most: int
    kept: Kept = ""  # how long the provider should cache a part of it

    @property
    def counted(self) -> bool:
        """Whether it is a count, and not only an upper limit."""
        return self.least == self.most


def estimate(request: Request, count: Counter | None = None) -> TokenEstimate:
    """The tokens of a whole request; `count` is the tokenizer of its model, if there is one.

    >>> request = Request([{"role": "user", "content": "Hola, ¿qué tal?"}])
    >>> estimate(request), estimate(request, lambda text: len(text.split())).counted
    (TokenEstimate(least=0, likely=13, most=24, kept=''), True)
    """
    walk = _Walk()
    calls = sum(walk.message(message) for message in request.messages)
    fixed = _START + _MESSAGE * (len(request.messages) + calls)
    for tool in request.tools:
        walk.texts += [tool.name, tool.description or ""]
        walk.data(tool.parameters)
    walk.data(request.schema)
    for name, value in request.parameters.items():
        if name in _KEEPING:
            walk.keep(value)
        elif name not in _HIDDEN and isinstance(value, str | Mapping | list | tuple):
            walk.data(value)
    likely, most = walk.media
    if count is not None:
        text = sum(_counted(count, part) for part in walk.texts if part) + fixed
        return TokenEstimate(text, text + likely, text + most, walk.kept)
    size = sum(map(_size, walk.texts))
    return TokenEstimate(0, -(-size // _BYTES) + fixed + likely, size + fixed + most, walk.kept)


def estimate_reply(reply: Reply, count: Counter | None = None) -> int:
    """The probable number of tokens of a reply, or of the part that arrived."""
    texts = [
        reply.text,
        reply.reasoning,
        reply.refusal,
        *(part for call in reply.calls for part in (call.name, call.raw_args)),
    ]
    if count is not None:
        return sum(_counted(count, text) for text in texts if text)
    return -(-sum(map(_size, texts)) // _BYTES)


def counter(policy: Policy, model: str) -> Counter | None:
    """The tokenizer for a model: the policy's own, or tiktoken for OpenAI's models; None if there is no tokenizer."""
    return policy.tokenizer if policy.tokenizer is not None else _tiktoken(model)


@lru_cache(maxsize=256)
def _tiktoken(model: str) -> Counter | None:
    """tiktoken for a model that it knows, if it is installed and its complete file is on this machine."""
    name = model.removeprefix("openai/")
    if not name:
        return None
    try:
        import tiktoken
        from tiktoken.model import encoding_name_for_model

        encoding = encoding_name_for_model(name)
    except (ImportError, KeyError):
        return None
    if not _on_disk(encoding):
        return None
    ordinary = tiktoken.get_encoding(encoding).encode_ordinary
    return lambda text: len(ordinary(text))


def _on_disk(encoding: str) -> bool:
    known = _FILES.get(encoding)
    if known is None:
        return False
    import hashlib
    import os
    import tempfile
    from pathlib import Path

    name, digest = known
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    place = Path(tempfile.gettempdir(), "data-gym-cache") if folder is None else Path(folder)
    file = place / hashlib.sha1(_ADDRESS.format(name).encode(), usedforsecurity=False).hexdigest()
    try:
        return folder != "" and hashlib.sha256(file.read_bytes()).hexdigest() == digest
    except OSError:
        return False


def _counted(count: Counter, text: str) -> int:
    number = count(text)
    if type(number) is not int or number < 0:
        raise TypeError(f"tokenizer must return the number of tokens of a text; got {number!r}")
    return number


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


class _Walk:
    """Collects the texts of a request, and the tokens of its images and files."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.media = (0, 0)
        self.kept: Kept = ""

    def message(self, message: Any) -> int:
        """Add a message; return the number of its tool calls."""
        content = message.get("content") if type(message) is dict and len(message) == 2 else message
        if isinstance(content, str):
            self.texts.append(content)
            return 0
        body = as_dict(message)
        if body is None:
            self.texts.append(str(message))
            return 0
        self._item(body, _DEEP)
        calls = body.get("tool_calls")
        return len(calls) if isinstance(calls, list) else 0

    def data(self, value: Any) -> None:
        """Add a schema or another part that is sent as JSON."""
        if isinstance(value, str):
            self.texts.append(value)
        elif value:
            text = written(value).decode()
            self.texts.append(text)
            if any(f'"{name}":{{' in text for name in _KEEPING):
                self.keep({"ttl": "1h"} if '"ttl":"1h"' in text else {})

    def keep(self, mark: Any) -> None:
        """Add the mark of a part that the provider should cache."""
        if mark is not None:
            self.kept = "long" if (as_dict(mark) or {}).get("ttl") == "1h" else self.kept or "short"

    def _item(self, item: Any, depth: int) -> None:
        if isinstance(item, str):
            self.texts.append(item)
        elif isinstance(item, Media):
            size = len(item.data or b"")
            self._add(*(_IMAGE if not size or item.media_type.startswith("image/") else (size // 100, size)))
        elif isinstance(item, bytes | bytearray):
            self._add(len(item) // 100, len(item))
        elif isinstance(item, list | tuple):
            for part in item:
                self._item(part, depth - 1)
        elif depth > 0 and (body := as_dict(item)) is not None:
            self._record(body, depth)

    def _record(self, body: Mapping[str, Any], depth: int) -> None:
        for name in _KEEPING:
            self.keep(body.get(name))
        kind = str(body.get("type") or body.get("kind") or "")
        about = f"{kind} {body.get('mime_type') or body.get('media_type') or body.get('mimeType') or ''}"
        if "image" in about or "image" in body or "image_url" in body:
            small = "low" in {body.get("detail"), (as_dict(body.get("image_url")) or {}).get("detail")}
            self._add(*(_SMALL if small else _IMAGE))
            return
        for name, value in body.items():
            if name in _MEDIA and isinstance(value, str | bytes | bytearray) and kind != "text":
                self._add(len(value) // 100, len(value))
            elif name not in {"type", "role", "id", "detail", "signature", *_KEEPING}:
                self._item(value, depth - 1)

    def _add(self, likely: int, most: int) -> None:
        self.media = (self.media[0] + likely, self.media[1] + most)
