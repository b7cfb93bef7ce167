"""Images and files as parts of a message, the same for every provider.

Takes a path, bytes or a URL; returns a part with its media type. A file is read when the part is made; if it is too large or its type is
unknown, an error is raised. Nothing is downloaded: the provider fetches URLs.
"""

import base64
import binascii
import errno
import hashlib
import mimetypes
import os
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote_to_bytes, urlsplit

MAX_BYTES = 50_000_000
_SCHEMES = ("http", "https", "gs", "s3")
_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
)
_INSIDE = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}  # after `RIFF` and a length
_BRANDS = {b"heic": "image/heic", b"heix": "image/heic", b"avif": "image/avif", b"M4A ": "audio/mp4"}  # after `ftyp`
_WHAT = "a path, bytes, or a URL"


class MessageError(ValueError):
    """The provider cannot take a message, or a part of it; nothing was sent."""


def refused(where: str, what: str, do: str) -> MessageError:
    """The error for a part: where it is, what is wrong with it, and what to do."""
    return MessageError(f"{where}: {what}; {do}")


class Media:
    """The base of images and files: bytes or a URL, and a media type."""

    __slots__ = ("data", "media_type", "name", "url")

    data: bytes | None
    """The bytes; None if the part is a URL."""
    url: str
    """The URL; empty if the part contains bytes."""
    media_type: str
    """The media type, such as `image/png`; empty for a URL without a known file extension."""
    name: str
    """The name of the file; empty if it has none."""

    def __init__(
        self, source: "str | os.PathLike[str] | bytes", media_type: str | None = None, *, name: str = "",
        max_bytes: int = MAX_BYTES,
    ) -> None:  # fmt: skip
        self.url, self.data, self.name = "", None, name
        told = media_type or ""
        scheme = _scheme(source) if isinstance(source, str) else ""
        if isinstance(source, str) and scheme == "data":
            told_here, self.data = _from_data_url(source)
            told = told or told_here
        elif isinstance(source, str) and scheme:
            self.url = source
            self.name = name or unquote_to_bytes(urlsplit(source).path.rpartition("/")[2]).decode("utf-8", "replace")
        elif isinstance(source, str | os.PathLike):
            self.data, self.name = _read(Path(source), max_bytes), name or Path(source).name
        elif isinstance(source, bytes | bytearray | memoryview):
            self.data = bytes(source)
        else:
            raise TypeError(f"{type(self).__name__} takes {_WHAT}; got {type(source).__name__}")
        if self.data is not None:
            _refuse_size(type(self).__name__, self.data, max_bytes)
        self.media_type = told or _sniffed(self.data, self.name)
        if self.data is not None and not self.media_type:
            raise ValueError(
                f"the media type of {self!r} is not known; give media_type, such as media_type='application/pdf'"
            )

    @property
    def kind(self) -> Literal["image", "audio", "video", "text", "file"]:
        """The kind of content that a provider must support to take this part."""
        family = self.media_type.partition("/")[0]
        return family if family in ("image", "audio", "video", "text") else "file"  # type: ignore[return-value]

    @property
    def base64(self) -> str:
        """The bytes in base64."""
        return base64.b64encode(self.data or b"").decode()

    @property
    def data_url(self) -> str:
        """The URL, or the bytes as a `data:` URL."""
        return self.url or f"data:{self.media_type};base64,{self.base64}"

    def __repr__(self) -> str:
        """The type and the size, never the content."""
        held = self.url.partition("?")[0] if self.data is None else f"{len(self.data):,} bytes"
        told = (type(self).__name__, self.name if self.data else "", getattr(self, "media_type", ""), held)
        return f"<{' '.join(filter(None, told))}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Media):
            return NotImplemented
        return type(self) is type(other) and self._all == other._all

    def __hash__(self) -> int:
        return hash(self._all)

    @property
    def _all(self) -> tuple[Any, ...]:
        return self.data, self.url, self.media_type, self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (type(self), self._all)

    def to_dict(self) -> dict[str, Any]:
        """The part as it is stored and logged: everything except the content, with a digest of the content."""
        about = {"type": type(self).__name__.lower(), "media_type": self.media_type, "name": self.name}
        size: dict[str, Any] = {"url": self.url.partition("?")[0]} if self.data is None else {"bytes": len(self.data)}
        return {**about, **size, "sha256": hashlib.sha256(self.data or self.url.encode()).hexdigest()}


class Image(Media):
    """An image as a part of a message's content: `Image("cat.png")`, `Image(data)` or `Image("https://…")`.

    - `source`: a path, bytes, a URL or a `data:` URL. Files are read immediately; the provider fetches URLs.
    - `media_type`: such as `image/png`; by default it is detected from the content or the name.
    - `name`: a name for providers that show one; by default the file's name.
    - `max_bytes`: the size limit; by default 50 MB.

    >>> Image(b"GIF89a").media_type
    'image/gif'
    >>> Image(b"%PDF-1.7")
    Traceback (most recent call last):
    ValueError: Image(…) takes an image; got application/pdf. Use File(…)
    """

    __slots__ = ()

    def __init__(
        self, source: "str | os.PathLike[str] | bytes", media_type: str | None = None, *, name: str = "",
        max_bytes: int = MAX_BYTES,
    ) -> None:  # fmt: skip
        super().__init__(source, media_type, name=name, max_bytes=max_bytes)
        if self.media_type and self.kind != "image":
            raise ValueError(f"Image(…) takes an image; got {self.media_type}. Use File(…)")

    @property
    def kind(self) -> Literal["image", "audio", "video", "text", "file"]:
        """Always `image`, even if the type of a URL is not known."""
        return super().kind if self.media_type else "image"


class File(Media):
    """A file as a part of a message's content: `File("report.pdf")`; a PDF, a text, audio or an image.

    - `source`: a path, bytes, a URL or a `data:` URL. Files are read immediately; the provider fetches URLs.
    - `media_type`: such as `application/pdf`; by default it is detected from the content or the name.
    - `name`: the name that the provider is given; by default the file's name.
    - `max_bytes`: the size limit; by default 50 MB.

    >>> File(b"%PDF-1.7", name="report.pdf")
    <File report.pdf application/pdf 8 bytes>
    """

    __slots__ = ()


def _made(kind: type[Media], held: tuple[Any, ...]) -> Media:
    part = kind.__new__(kind)
    part.data, part.url, part.media_type, part.name = held
    return part


def _scheme(source: str) -> str:
    """The scheme of a URL; empty for a path. Raises an error for a URL that providers do not fetch."""
    scheme, mark, _ = source[:40].partition(":")
    if mark and scheme.lower() == "data":
        return "data"
    if not mark or not source.startswith("//", len(scheme) + 1):
        return ""
    if scheme.lower() not in _SCHEMES:
        raise ValueError(
            f"providers do not fetch {scheme}: URLs; give {_WHAT} that starts with {', '.join(_SCHEMES)} or data"
        )
    return scheme.lower()


def _read(path: Path, max_bytes: int) -> bytes:
    try:
        size = path.stat().st_size  # a missing file raises its own error
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise ValueError("a text of this length is not a path; give base64 as bytes: base64.b64decode(…)") from None
    if size > max_bytes:
        raise ValueError(f"{path.name} is too large: {size:,} bytes; max_bytes is {max_bytes:,}")
    return path.read_bytes()


def _refuse_size(kind: str, data: bytes, max_bytes: int) -> None:
    if not data:
        raise ValueError(f"{kind} is empty; give {_WHAT}")
    if len(data) > max_bytes:
        raise ValueError(f"{kind} is too large: {len(data):,} bytes; max_bytes is {max_bytes:,}")


def _from_data_url(url: str) -> tuple[str, bytes]:
    """The media type and the bytes of a `data:` URL."""
    head, comma, held = url[5:].partition(",")
    if not comma:
        raise ValueError("a data: URL is data:<media type>;base64,<bytes>; this one has no comma")
    media_type = head.partition(";")[0]
    if not head.endswith(";base64"):
        return media_type, unquote_to_bytes(held)
    try:
        return media_type, base64.b64decode(held, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("the bytes of this data: URL are not valid base64") from None


def _sniffed(data: bytes | None, name: str) -> str:
    """The media type according to the first bytes, the name, or the content if it is text."""
    for start, media_type in _STARTS:
        if data is not None and data.startswith(start):
            return media_type
    if data is not None and data[:4] == b"RIFF" and data[8:12] in _INSIDE:
        return _INSIDE[data[8:12]]
    if data is not None and data[4:8] == b"ftyp":
        return _BRANDS.get(data[8:12], "video/mp4")
    named = mimetypes.guess_type(name)[0] or ""
    if named or data is None:
        return named
    try:
        return "" if "\x00" in data.decode("utf-8") else "text/plain"
    except UnicodeDecodeError:
        return ""
