"""Taking a page apart."""

import pytest

from trueup.verdict.pages import BadPage, read_example, read_page

PAGE = """# S016 · raw-control

*fix · lossless · price 1*

## Finds

A break.

## Triggers

````trueup
schema: {"type": "object"}
accept: lossless
strict: true
max_size: 99
--- reply
## Not a heading
```json
{"a": "x
y"}
```
--- gives
S016 $.a
W001 $
````

## Stays quiet

```trueup
--- reply
```

## Fix

None.
"""


def test_a_path_has_parts() -> None:
    page = read_page(PAGE)
    assert (page.code, page.name, page.head) == ("S016", "raw-control", "fix · lossless · price 1")
    assert list(page.sections) == ["Finds", "Triggers", "Stays quiet", "Fix"]
    (example,) = page.triggers
    assert example.options == {"schema": {"type": "object"}, "accept": "lossless", "strict": True, "max_size": 99}
    assert example.reply == '## Not a heading\n```json\n{"a": "x\ny"}\n```'
    assert example.gives == {("S016", "$.a"), ("W001", "$")}
    assert page.quiet[0].reply == ""
    assert page.quiet[0].gives == frozenset()


def test_escapes_are_characters_only_when_asked_for() -> None:
    assert read_example("--- reply\n\\u200b\n").reply == "\\u200b"
    assert read_example("escapes: yes\n--- reply\n\\u200b\\x1b\\U000e0041\n").reply == "\u200b\x1b\U000e0041"
    assert read_example("escapes: bytes\n--- reply\né\\xff\n").reply == b"\xc3\xa9\xff"


def test_a_reply_may_be_a_providers_message() -> None:
    example = read_example(
        'tools: [{"name": "ping"}]\nhistory: [{"role": "user"}]\nreply: json\n--- reply\n{"a": [1]}\n'
    )
    assert (example.reply, example.options) == ({"a": [1]}, {"tools": [{"name": "ping"}]})
    assert example.context == {"history": [{"role": "user"}]}
    assert (read_example("--- reply\n[1]\n").reply, read_example("--- reply\n[1]\n").context) == ("[1]", {})


@pytest.mark.parametrize(
    ("block", "says"),
    [
        ("accept: lossy\n", "--- reply"),
        ("lossy\n--- reply\n", "option"),
        ("--- reply\n--- gives\nS001\n", "path"),
        ("reply: json\n--- reply\n{oops\n", "JSON"),
    ],
)
def test_a_bad_example_is_refused(block: str, says: str) -> None:
    with pytest.raises(BadPage, match=says):
        read_example(block)


def test_a_page_without_a_title_is_refused() -> None:
    with pytest.raises(BadPage, match="CODE · name"):
        read_page("S016\n")
