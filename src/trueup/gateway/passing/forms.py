r"""Finds the model that a multipart form names in its field `model`.

The form is passed on unchanged, so every reader must understand it the same way: anything that a reader could take for
another field (a boundary inside a line, a second `model`, an odd header) is refused. Nothing is decoded, and no file is
opened.
"""

import re
from typing import NamedTuple

from trueup.gateway.errors import RefusedRequest

_BOUNDARY = re.compile(
    r"multipart/form-data\s*;\s*boundary=(?:\"([0-9A-Za-z'()+_,./:=? -]{1,70})\"|([0-9A-Za-z'()+_,./:=?-]{1,70}))\s*",
    re.IGNORECASE,
)
_HEAD = re.compile(
    rb"content-disposition:[ \t]*form-data;[ \t]*name=\"([^\"\\\r\n%]{1,200})\"(?:;[ \t]*filename=\"[^\"\r\n]{0,1000}\")?"
    rb"(?:;[ \t]*filename\*=[^\"\r\n;]{0,1000})?[ \t]*",
    re.IGNORECASE,
)
_OTHER = re.compile(
    rb"content-(?:(?:type|length):[^\r\n]{0,1000}|transfer-encoding:[ \t]*(?:binary|[78]bit)[ \t]*)", re.IGNORECASE
)
_MOST_PARTS = 1000
_MOST_HEAD = 4000


def boundary_of(content_type: str) -> bytes:
    """The boundary that a content type names."""
    found = _BOUNDARY.fullmatch(content_type.strip())
    if found is None:
        said = "the body must be multipart/form-data with a boundary, and its content type must say so"
        raise RefusedRequest(400, said, code="invalid_content_type")
    return (found[1] or found[2]).encode()


class Named(NamedTuple):
    """The model that a form requests, and where its name is."""

    model: str = ""  # empty: it names none
    start: int = 0
    end: int = 0


def model_in(body: bytes, content_type: str) -> Named:
    r"""The model that a form requests.

    >>> body = b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n--b--\r\n'
    >>> model_in(body, "multipart/form-data; boundary=b")
    Named(model='whisper-1', start=53, end=62)
    """
    mark = b"--" + boundary_of(content_type)
    parts = (b"\r\n" + body).split(b"\r\n" + mark, _MOST_PARTS + 1)
    if len(parts) > _MOST_PARTS or parts[0] not in (b"", b"\r\n") or parts[-1] not in (b"--", b"--\r\n"):
        raise _odd("it does not begin and end with its boundary")
    found, at = Named(), len(parts[0]) - 2  # anything before the first boundary does not count
    for part in parts[1:-1]:
        at += 2 + len(mark)
        name, start = _part(part, mark)
        if name.lower() == b"model":
            if name != b"model" or found.end:
                raise _odd("it has two `model` fields, or one in another spelling")
            found = Named(_text(part[start:]), at + start, at + len(part))
        at += len(part)
    return found


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise _odd("the name of the model is not text") from None


def _part(part: bytes, mark: bytes) -> tuple[bytes, int]:
    """The name of a field, and where its value begins."""
    if not part.startswith(b"\r\n") or mark in part:
        raise _odd("its boundary is in the wrong place")
    end = part.find(b"\r\n\r\n", 0, _MOST_HEAD)
    if end < 2:
        raise _odd("a part has no headers, or they do not end")
    lines = part[2:end].split(b"\r\n")
    named = [found[1] for line in lines if (found := _HEAD.fullmatch(line))]
    if len(named) != 1 or not all(_HEAD.fullmatch(line) or _OTHER.fullmatch(line) for line in lines):
        raise _odd("the headers of a part are not supported")
    return named[0], end + 4


def _odd(said: str) -> RefusedRequest:
    return RefusedRequest(400, f"the form cannot be passed on: {said}", code="invalid_form")
