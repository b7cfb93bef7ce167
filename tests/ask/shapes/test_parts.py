"""Images and files as parts of messages: their sources, their types, and the errors."""

import pickle
from pathlib import Path
from typing import Any

import pytest

import trueup
from trueup.ask.cache import MemoryCache
from trueup.ask.shapes.openai import as_openai, as_texts, plain
from trueup.ask.shapes.parts import File, Image, MessageError
from trueup.read.messages import question_in, role_of

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
KINDS = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/gif": b"GIF89a",
    "image/webp": b"RIFF\x00\x00\x00\x00WEBP",
    "image/heic": b"\x00\x00\x00\x18ftypheic",
    "application/pdf": b"%PDF-1.7",
    "audio/wav": b"RIFF\x00\x00\x00\x00WAVE",
    "audio/mpeg": b"ID3\x04",
    "video/mp4": b"\x00\x00\x00\x18ftypisom",
    "text/plain": "Grüße".encode(),
}


@pytest.mark.parametrize("media_type", KINDS)
def test_the_content_determines_the_type(media_type: str) -> None:
    assert File(KINDS[media_type]).media_type == media_type


def test_the_content_has_priority_over_the_name(tmp_path: Path) -> None:
    path = tmp_path / "picture.jpg"
    path.write_bytes(PNG)
    part = Image(path)
    assert (part.media_type, part.name, part.data) == ("image/png", "picture.jpg", PNG)
    assert Image(str(path)) == part


def test_the_name_determines_the_type_if_the_content_does_not(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n1,2\n")
    assert File(path).media_type == "text/csv"
    assert File(b"\x00\x01", "application/x-thing").media_type == "application/x-thing"


def test_a_url_is_not_fetched() -> None:
    part = Image("https://example.com/cat.png?key=secret")
    assert (part.data, part.url, part.media_type) == (None, "https://example.com/cat.png?key=secret", "image/png")
    assert Image("https://example.com/cat").media_type == ""


def test_a_data_url_is_read_immediately() -> None:
    assert Image(Image(PNG).data_url).data == PNG
    assert File("data:text/plain,caf%C3%A9").data == "café".encode()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Image(b"%PDF-1.7"), r"Image\(…\) takes an image; got application/pdf. Use File\(…\)"),
        (lambda: Image(b""), "Image is empty"),
        (lambda: File(b"\x00\xff\x00"), "the media type of <File 3 bytes> is not known; give media_type"),
        (lambda: File(bytes(11), "a/b", max_bytes=10), "File is too large: 11 bytes; max_bytes is 10"),
        (lambda: Image("data:image/png;base64,*"), "not valid base64"),
        (lambda: Image("data:image/png;base64"), "this one has no comma"),
    ],
)
def test_an_invalid_part_is_refused_when_it_is_made(make: object, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        make()  # type: ignore[operator]


def test_a_large_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_bytes(bytes(100))
    with pytest.raises(ValueError, match=r"long\.txt is too large: 100 bytes"):
        File(path, max_bytes=99)
    with pytest.raises(FileNotFoundError):
        File(tmp_path / "missing.txt")


def test_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="Image takes a path, bytes, or a URL; got int"):
        Image(5)  # type: ignore[arg-type]


def test_the_content_is_never_shown_whole() -> None:
    part = File(b"secret text", name="notes.txt")
    assert repr(part) == "<File notes.txt text/plain 11 bytes>"
    about = part.to_dict()
    assert about.pop("sha256") != File(b"secret test", name="notes.txt").to_dict()["sha256"]
    assert about == {"type": "file", "media_type": "text/plain", "name": "notes.txt", "bytes": 11}
    assert "key=secret" not in repr(Image("https://example.com/cat.png?key=secret"))


def test_a_part_can_be_compared_and_sent_to_another_process() -> None:
    part = trueup.Image(PNG, name="cat.png")
    assert pickle.loads(pickle.dumps(part)) == part
    assert len({part, Image(PNG, name="cat.png"), File(PNG, name="cat.png")}) == 2


def test_messages_with_parts_are_read_as_before() -> None:
    message = {"role": "user", "content": ["What is this?", Image(PNG)]}
    assert role_of(message) == "user"
    assert question_in([message]) == "What is this?"


def test_a_callable_gets_parts_in_openais_form_and_everything_else_unchanged() -> None:
    own = {
        "role": "user",
        "content": [{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}],
    }
    given = [own, {"role": "user", "content": ["Hi", Image(PNG)]}]
    first, second = plain(given)
    assert first is own
    assert second["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert given[1]["content"][1] == Image(PNG)


def test_a_cache_distinguishes_images() -> None:
    seen: list[int] = []

    def model(messages: object) -> str:
        seen.append(1)
        return str(len(seen))

    cache = MemoryCache()
    pictures = [PNG + b"a", PNG + b"b", PNG + b"a", "https://example.com/?n=1", "https://example.com/?n=2"]
    texts = [
        trueup.Contract().ask(model, [{"role": "user", "content": ["What?", Image(one)]}], cache=cache).text
        for one in pictures
    ]
    assert texts == ["1", "2", "1", "3", "4"]


def test_a_text_file_is_sent_as_text() -> None:
    part = File(b"one\ntwo", name="notes.txt")
    (message,) = as_openai([{"role": "user", "content": ["Read:", part]}])
    assert message["content"][1] == {"type": "text", "text": "notes.txt:\n\none\ntwo"}


def test_a_model_that_reads_only_text() -> None:
    (message,) = as_texts([{"role": "user", "content": ["Read:", File(b"one", name="a.txt")]}], "the local model")
    assert message == {"role": "user", "content": "Read:\n\na.txt:\n\none"}
    with pytest.raises(MessageError, match=r"messages\[0\]\.content\[0\]: the local model does not accept <Image"):
        as_texts([{"role": "user", "content": [Image(PNG)]}], "the local model")


def test_schemes_are_read_in_any_case_and_others_are_refused() -> None:
    assert Image("HTTPS://example.com/cat.png").url == "HTTPS://example.com/cat.png"
    assert Image("Data:image/png;base64,iVBORw0KGgo=").data == PNG[:8]
    with pytest.raises(ValueError, match="providers do not fetch ftp: URLs; give a path, bytes, or a URL"):
        Image("ftp://example.com/cat.png")


def test_base64_in_place_of_a_path_is_not_repeated() -> None:
    with pytest.raises(ValueError, match="not a path; give base64 as bytes") as caught:
        Image("iVBORw0KGgo" * 100)
    assert "iVBOR" not in str(caught.value)


@pytest.mark.parametrize("content", [Image(PNG), ["Look.", Image(PNG)], ("Look.", Image(PNG))])
@pytest.mark.parametrize("as_pair", [True, False])
def test_a_callable_never_sees_a_part_of_ours(content: object, as_pair: bool) -> None:
    seen: list[Any] = []
    message: Any = ("user", content) if as_pair else {"role": "user", "content": content}
    trueup.Contract().ask(lambda messages: seen.append(messages) or "A cat.", [message])
    assert seen[0][0]["content"][-1] == {"type": "image_url", "image_url": {"url": Image(PNG).data_url}}
