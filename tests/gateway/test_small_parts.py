"""Small parts without a server: events, inflating, metrics."""

import gzip
import itertools
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.gateway.client.inflate import BadEncoding, Inflater, TooLarge
from trueup.gateway.protocols.sse import Reader, TooLong, written
from trueup.gateway.watching.metrics import Metrics


def cut(data: Any, places: list[int]) -> list[Any]:
    """Something cut into pieces at some places."""
    edges = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(edges)]


@pytest.mark.spec("X26")
@given(st.lists(st.binary(max_size=40), max_size=6), st.lists(st.integers(0, 300), max_size=8))
def test_each_event_is_read_once_however_the_stream_is_split(payloads: list[bytes], places: list[int]) -> None:
    stream = b"".join(written(data, "delta") for data in payloads)
    reader = Reader()
    events = [event for piece in cut(stream, places) for event in reader.feed(piece)] + reader.end()
    normal = [b"\n".join(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")) for data in payloads]
    assert [event.data for event in events] == normal
    assert b"".join(event.raw for event in events) == stream


def test_events_may_have_other_line_endings_comments_and_no_final_blank_line() -> None:
    reader = Reader()
    events = reader.feed(b": hello\r\n\r\nevent: a\r\ndata: 1\r\ndata: 2\r\n\r\nid: 7\rdata:3\r\r") + reader.feed(
        b"data: end"
    )
    events += reader.end()
    assert [(event.name, event.data) for event in events] == [("", b""), ("a", b"1\n2"), ("", b"3"), ("", b"end")]
    with pytest.raises(TooLong):
        Reader(100).feed(b"data: " + b"x" * 200)
    with pytest.raises(TooLong):
        Reader(100).feed(b"data: x\n" * 20)


@pytest.mark.spec("X26", "X36")
@pytest.mark.parametrize("half", [b"d", b"data", b"data:", b"data: ", b"event: ping"])
def test_an_unfinished_event_is_dropped(half: bytes) -> None:
    reader = Reader()
    assert [event.data for event in reader.feed(b"data: {}\n\n" + half)] == [b"{}"]
    assert reader.end() == []


@pytest.mark.spec("X34")
def test_a_decompression_bomb_is_refused_early() -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    inflater = Inflater("gzip", 1_000_000)
    with pytest.raises(TooLarge, match="more than 1,000,000 bytes"):
        inflater.feed(bomb)
    assert Inflater("deflate", 100).feed(zlib.compress(b"hello")) == b"hello"
    assert not Inflater("gzip", 10).whole
    for encoding, body in (("gzip", b"not gzip at all"), ("br", b"")):
        with pytest.raises(BadEncoding):
            Inflater(encoding, 100).feed(body)


@given(st.binary(max_size=3000), st.lists(st.integers(0, 3000), max_size=6))
def test_inflating_gives_the_same_bytes_however_the_input_is_split(data: bytes, places: list[int]) -> None:
    inflater = Inflater("gzip", 3000)
    assert b"".join(inflater.feed(piece) for piece in cut(gzip.compress(data), places)) == data
    assert inflater.whole


def test_metrics_are_limited_and_escaped() -> None:
    metrics = Metrics()
    for n in range(300):
        metrics.count("trueup_attempts_total", model=f'm{n}"\n')
    metrics.time("trueup_overhead_seconds", 0.0007)
    page = metrics.page()
    assert page.count("trueup_attempts_total{") == 101
    assert 'model="m0\\"\\n"' in page
    assert 'trueup_overhead_seconds_bucket{le="0.001"} 1' in page


KEYS = (b"sk-canary-0123", b"sk-can", b"anary-01", b"aab", b"aaab")


@pytest.mark.spec("X25")
@given(
    st.lists(st.sampled_from([*KEYS, b"sk-", b"a", b"ab", b"sk-canary-012", b"words", b"[", b"key]"]), max_size=12),
    st.lists(st.integers(0, 120), max_size=10),
)
def test_keys_are_removed_from_a_body_however_it_is_split(parts: list[bytes], places: list[int]) -> None:
    from trueup.gateway.client.upstream import Veil

    whole = b"".join(parts)
    veil = Veil(KEYS)
    shown = b"".join([veil.feed(piece) for piece in cut(whole, places)]) + veil.held
    assert not [key for key in KEYS if key in shown.replace(b"[key]", b"|")]
    if not any(key in whole for key in KEYS):
        assert shown == whole
