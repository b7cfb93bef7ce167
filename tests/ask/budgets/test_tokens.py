"""Estimates of requests: what they include, when they are exact, and that they do not download anything."""

import importlib.util
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import File, Image, Policy
from trueup.ask.budgets import tokens
from trueup.ask.budgets.tokens import counter, estimate, estimate_reply
from trueup.ask.clients.request import Request
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.tool import Tool

WORDS = "Which of these letters is a complaint?"
SCHEMA = {"type": "object", "properties": {"complaint": {"type": "boolean"}}, "required": ["complaint"]}


def words(text: str) -> int:
    return len(text.split())


def asked(*messages: Any, **more: Any) -> Request:
    return Request(list(messages) or [{"role": "user", "content": WORDS}], **more)


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the tiktoken files that LiteLLM ships, without network access."""
    spec = importlib.util.find_spec("litellm")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"
    tokens._tiktoken.cache_clear()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    monkeypatch.setattr(socket, "create_connection", _refuse)
    monkeypatch.setattr(socket.socket, "connect", _refuse)
    yield folder
    tokens._tiktoken.cache_clear()


def _refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("nothing may be downloaded")


@pytest.mark.parametrize("count", [None, words])
@pytest.mark.parametrize(
    "more",
    [
        {"schema": SCHEMA},
        {"tools": (Tool("book", "Book a table for some people.", SCHEMA),)},
        {"parameters": {"system": "Be kind to everyone."}},
    ],
)
def test_schema_tools_and_parameters_count(more: dict[str, Any], count: Any) -> None:
    assert estimate(asked(**more), count).likely > estimate(asked(), count).likely


def test_parameters_that_no_model_reads_do_not_count() -> None:
    more = {"extra_headers": {"Authorization": "Bearer " + "x" * 500}, "timeout": 3, "seed": 7}
    assert estimate(asked(parameters=more)) == estimate(asked())


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 60_000}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 60_000}},
        {"inline_data": {"mime_type": "image/png", "data": "A" * 60_000}},
        {"type": "input_image", "image_url": "https://example.com/cat.png"},
    ],
    ids=["openai", "anthropic", "gemini", "responses"],
)
def test_an_image_is_not_counted_by_its_bytes_and_makes_an_estimate_uncertain(part: dict[str, Any]) -> None:
    request = asked({"role": "user", "content": [{"type": "text", "text": WORDS}, part]})
    found, plain = estimate(request, words), estimate(asked(), words)
    assert plain.counted
    assert not found.counted
    assert plain.least <= found.least < found.likely < found.most < 20_000


def test_neutral_parts_count_like_those_of_a_provider() -> None:
    picture, paper = Image(b"\x89PNG\r\n\x1a\n" + b"0" * 9_000), File(b"%PDF-1.7 " + b"0" * 9_000)
    image, file = (estimate(asked({"role": "user", "content": [WORDS, part]}), words) for part in (picture, paper))
    plain = estimate(asked(), words)
    assert plain.least == image.least == file.least
    assert plain.most < image.most < 9_000 < file.most


def test_an_image_in_low_detail_takes_less() -> None:
    def image(detail: str) -> Request:
        return asked({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u", "detail": detail}}]})

    assert estimate(image("low")).most < estimate(image("high")).likely


def test_calls_and_their_results_count() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "book", "arguments": '{"people": 4}'}}
    history = [{"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "content": "Booked."}]
    assert estimate(asked(*history), words).likely > estimate(asked({"role": "user", "content": ""}), words).likely + 3


@given(st.text(max_size=300))
def test_the_number_of_bytes_is_an_upper_limit_for_any_tokenizer(text: str) -> None:
    found = estimate(asked({"role": "user", "content": text}))
    assert found.least <= found.likely <= found.most
    assert found.most >= len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(("model", "encoding"), [("gpt-4o-mini", "o200k_base"), ("openai/gpt-4", "cl100k_base")])
@pytest.mark.usefixtures("shipped")
def test_tiktoken_counts_what_its_models_read(model: str, encoding: str) -> None:
    import tiktoken

    count = counter(Policy(), model)
    assert count is not None
    assert count(WORDS) == len(tiktoken.get_encoding(encoding).encode(WORDS))
    assert estimate(asked(model=model), count).counted


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize("model", ["", "claude-opus-5", "my-model"])
def test_other_models_have_another_tokenizer(model: str) -> None:
    assert counter(Policy(), model) is None
    assert counter(Policy(tokenizer=words), model) is words


@pytest.mark.parametrize("held", [None, b"", b"half of it"])
def test_a_file_that_is_missing_or_broken_is_not_downloaded(held: bytes | None, shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    if held is not None:
        for file in shipped.iterdir():
            (tmp_path / file.name).write_bytes(held)
    assert counter(Policy(), "gpt-4o-mini") is None


def test_a_tokenizer_that_does_not_count_is_refused() -> None:
    with pytest.raises(TypeError, match="tokenizer must be a function"):
        Policy(tokenizer="gpt-4o")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="tokenizer must return the number of tokens"):
        estimate(asked(), lambda text: text.split())  # type: ignore[arg-type,return-value]


def test_a_reply_is_estimated_with_its_calls_and_its_reasoning() -> None:
    whole = Reply("Yes, it is.", (ToolCall("book", {}, raw_args='{"people": 4}'),), reasoning="The tone is sharp.")
    assert estimate_reply(whole, words) == 3 + 1 + 2 + 4
    assert estimate_reply(Reply("ñ" * 3)) == 2
