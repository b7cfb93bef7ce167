"""Messages in the form of Bedrock's Converse.

Takes messages of any family; returns the `system` blocks and the messages. Roles alternate, as Converse requires: a message with the same
role as the one before it is merged into it. Bedrock does not fetch URLs: an image is bytes, or is stored in S3.
"""

from collections.abc import Sequence
from typing import Any

from trueup.ask.shapes.neutral import CallPart, Output, Part, PlainText
from trueup.ask.shapes.parts import Media, refused
from trueup.ask.shapes.walking import is_system, walk
from trueup.read.objects import Row, record, rows
from trueup.verdict.patterns import lazy_regex

_IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
_DOCUMENTS = {
    "application/pdf": "pdf", "text/csv": "csv", "text/html": "html", "text/plain": "txt", "text/markdown": "md",
    "application/msword": "doc", "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}  # fmt: skip
_IDS = lazy_regex(r"[A-Za-z0-9_-]{1,64}\Z")
_UNNAMED = lazy_regex(r"[^A-Za-z0-9 ()\[\]-]+")  # characters that a document's name may not contain


def as_bedrock(messages: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The system blocks, and the messages.

    >>> as_bedrock([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}])
    ([{'text': 'Be kind.'}], [{'role': 'user', 'content': [{'text': 'Hi'}]}])
    """
    system: list[Any] = []
    out: list[Row] = []
    for message, said in walk(messages, "bedrock", unless=is_system, ids=_IDS):
        if said is not None and said.role == "system":
            system += [{"text": said.text}] if said.text else []
            continue
        if said is None:
            role, content = message["role"], _own(message["content"])
        else:
            where = f"messages[{said.at}].content"
            role = "assistant" if said.role == "assistant" else "user"
            content = [_block(part, f"{where}[{n}]") for n, part in enumerate(said.parts)]
        if out and out[-1]["role"] == role:
            out[-1] = {"role": role, "content": [*out[-1]["content"], *content]}
        elif content:
            out.append({"role": role, "content": content})
    return system, out


def _own(content: Any) -> list[Any]:
    """Content that is already in Converse's form; its text may still be in the form that other providers share."""
    if isinstance(content, str):
        return [{"text": content}]
    return [_plain(item) for item in rows(content)]


def _plain(item: Any) -> Any:
    if isinstance(item, str):
        return {"text": item}
    return {"text": item["text"]} if record(item).get("type") == "text" else item


def _block(part: Part, where: str) -> Row:
    if isinstance(part, PlainText):
        return {"text": part.text}
    if isinstance(part, CallPart):
        return {"toolUse": {"toolUseId": part.id, "name": part.name, "input": part.args}}
    if isinstance(part, Output):
        content = [_block(inner, where) for inner in part.content] or [{"text": ""}]
        status = "error" if part.is_error else "success"
        return {"toolResult": {"toolUseId": part.id, "content": content, "status": status}}
    return _media(part, where)


def _media(part: Media, where: str) -> Row:
    if part.url and not part.url.startswith("s3://"):
        raise refused(where, f"Bedrock does not fetch {part!r}", "give the bytes, or an s3:// URL")
    source: Row = {"s3Location": {"uri": part.url}} if part.data is None else {"bytes": part.data}
    if part.media_type in _IMAGES:
        return {"image": {"format": _IMAGES[part.media_type], "source": source}}
    if part.media_type in _DOCUMENTS:
        name = _UNNAMED.sub("-", part.name.rpartition(".")[0] or part.name).strip("-") or "file"
        return {"document": {"format": _DOCUMENTS[part.media_type], "name": name, "source": source}}
    raise refused(
        where,
        f"Bedrock does not accept {part!r}",
        "give a PNG, JPEG, GIF or WebP image, a PDF, a text or an office file",
    )
