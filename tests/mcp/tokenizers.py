"""Real token counts by the tokenizers of OpenAI and Anthropic, from the files in LiteLLM. Nothing is downloaded."""

import functools
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


@functools.cache
def counters() -> dict[str, Callable[[str], int]]:
    """A counter for each tokenizer."""
    import tiktoken
    from tokenizers import Tokenizer

    spec = importlib.util.find_spec("litellm")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    try:
        own: dict[str, Any] = {name: tiktoken.get_encoding(name) for name in ("cl100k_base", "o200k_base")}
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before
    anthropic = Tokenizer.from_file(str(folder / "anthropic_tokenizer.json"))
    counts: dict[str, Callable[[str], int]] = {
        name: functools.partial(_count, encoding) for name, encoding in own.items()
    }
    return {**counts, "anthropic": lambda text: len(anthropic.encode(text).ids)}


def _count(encoding: Any, text: str) -> int:
    return len(encoding.encode_ordinary(text))


def most(text: str) -> int:
    """The largest count of a text."""
    return max(count(text) for count in counters().values())
