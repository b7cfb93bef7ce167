"""The items of a list, each as soon as it closes."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from trueup import Contract
from trueup.testing.script import Say
from trueup.testing.server import ScriptedServer


class Order(BaseModel):
    sku: str
    count: int = Field(ge=1)


@dataclass
class Page:
    note: str
    orders: list[Order]


ORDERS = Contract(list[Order])
ROWS = [{"sku": "a", "count": "2"}, {"sku": "b", "count": 3}]
MADE = [Order(sku="a", count=2), Order(sku="b", count=3)]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}},
        "page": {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "integer"}}}},
    },
    "$defs": {"row": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
}

pytestmark = pytest.mark.spec("A15")


def test_each_item_leaves_as_soon_as_it_has_closed() -> None:
    fed: list[str] = []

    def source() -> Iterator[str]:
        for piece in ('Sure: [{"sku": "a", "count"', ': "2"}', ', {"sku": "b", ', '"count": 3}', "]"):
            fed.append(piece)
            yield piece

    items = ORDERS.items(source())
    seen = [(item, len(fed)) for item in items]
    assert seen == [(MADE[0], 2), (MADE[1], 4)]
    assert items.verdict.unwrap() == MADE
    assert items.refused == []


@given(st.lists(st.integers(0, 200), max_size=9))
def test_the_items_do_not_depend_on_the_cuts(places: list[int]) -> None:
    text = "```json\n" + json.dumps([*ROWS, {"sku": "c"}, *ROWS]) + "\n```"
    edges = sorted({0, len(text), *(min(place, len(text)) for place in places)})
    items = ORDERS.items([text[a:b] for a, b in itertools.pairwise(edges)])
    assert list(items) == [*MADE, *MADE]
    assert [refused.index for refused in items.refused] == [2]


def test_an_item_that_is_not_valid_is_kept_with_its_findings() -> None:
    items = ORDERS.items([json.dumps([ROWS[0], {"sku": "x", "count": 0}, {"count": 1}, ROWS[1]])])
    assert list(items) == MADE
    assert [(one.index, one.data) for one in items.refused] == [(1, {"sku": "x", "count": 0}), (2, {"count": 1})]
    assert [finding.path for one in items.refused for finding in one.findings] == ["$[1].count", "$[2].sku"]
    assert not items.verdict.ok, "nothing is silent: the whole is refused"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"orders": ROWS}),
        "\n".join(map(json.dumps, ROWS)),
        "- sku: a\n  count: 2\n- sku: b\n  count: 3\n",
    ],
    ids=["in an envelope", "lines of JSON", "YAML"],
)
def test_items_that_only_the_whole_reply_shows_come_at_the_end(text: str) -> None:
    items = ORDERS.items([*text])
    assert list(items) == MADE
    assert items.verdict.ok


def test_an_item_that_was_cut_off_is_not_given() -> None:
    items = ORDERS.items(['[{"sku": "a", "count": 2}, {"sku": "b", "cou'])
    assert list(items) == MADE[:1]
    assert not items.verdict.ok


def test_the_only_list_among_the_members() -> None:
    text = json.dumps({"note": "hi", "orders": ROWS})
    assert list(Contract(Page).items([*text])) == MADE
    items = Contract(SCHEMA).items(['{"rows": [{"n": "1"}, {"n": 2}, {"m": 3}]}'])
    assert list(items) == [{"n": 1}, {"n": 2}]
    assert [refused.findings[0].path for refused in items.refused] == ["$.rows[2].n"]


def test_a_path_names_another_list() -> None:
    text = '{"rows": [], "page": {"ids": ["1", 2]}}'
    assert list(Contract(SCHEMA).items([text], path="$.page.ids")) == [1, 2]
    assert list(Contract(SCHEMA).items([text], path="rows")) == []
    assert list(Contract(True).items(['{"a": {"b": [1, {"c": 2}]}}'], path="$.a.b")) == [1, {"c": 2}]
    assert list(Contract(Page).items([json.dumps({"note": "", "orders": ROWS})], "$.orders")) == MADE


def test_which_list_is_meant_must_be_clear() -> None:
    two = Contract({"type": "object", "properties": {"a": {"type": "array"}, "b": {"type": "array"}}})
    with pytest.raises(ValueError, match=r"several lists \(a, b\); name the list of the items with path="):
        two.items([])
    with pytest.raises(
        ValueError, match="has no list at its root or among its members; name the list of the items with path="
    ):
        Contract(Order).items([])
    with pytest.raises(ValueError, match="give the contract a schema"):
        Contract().items([])
    with pytest.raises(ValueError, match=r"the value at \$ is not a list"):
        list(Contract(True).items(['{"a": []}']))


def test_asynchronous_sources_and_streams_of_an_sdk() -> None:
    import openai

    async def later() -> AsyncIterator[str]:
        for sign in json.dumps(ROWS):
            yield sign

    async def run(url: str) -> None:
        items = ORDERS.items(later())
        assert [item async for item in items] == MADE
        assert items.verdict.ok
        async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:
            stream = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "?"}], stream=True
            )
            assert [item async for item in ORDERS.items(stream)] == MADE

    with ScriptedServer([Say(json.dumps(ROWS), piece=3)]) as server:
        asyncio.run(run(server.url))
    with pytest.raises(TypeError, match="use `async for`"):
        list(ORDERS.items(later()))


def test_subscribers_get_the_verdict() -> None:
    from trueup.watch.observe import observed

    events: list[Any] = []
    watched = observed(ORDERS, events.append)
    assert list(watched.items([json.dumps(ROWS)])) == MADE
    assert len(events) == 1


class Book(BaseModel):
    pages: list[Page]


def test_a_path_may_have_positions() -> None:
    text = json.dumps({"pages": [{"note": "x", "orders": []}, {"note": "y", "orders": ROWS}]})
    for pieces in ([text], [*text]):
        items = Contract(Book).items(pieces, path="$.pages[1].orders")
        assert list(items) == MADE
        assert items.verdict.ok


def test_a_path_that_leads_to_no_list_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no 'ordes' in the contract\. Did you mean 'orders'\?"):
        Contract(Page).items([], path="ordes")
    with pytest.raises(ValueError, match=r"the value at \$\.note is not a list but string"):
        Contract(Page).items([], path="$.note")


def test_items_of_a_draft_do_not_hide_those_of_the_reply() -> None:
    text = 'Maybe [1, "x", 3]? No.</think>[4, 5]'
    items = Contract(list[int]).items([*text])
    assert list(items) == [1, 3, 4, 5], "reasoning that the prompt had opened is known when it closes"
    assert (items.refused, items.verdict.value) == ([], [4, 5])


@pytest.mark.parametrize(
    ("reply", "given", "withdrawn"),
    [
        ("[1, 2] no wait, [3, 4]", [1, 2, 3, 4], [1, 2]),
        ("[1]\n\nI mean: [2, 3]", [1, 2, 3], [1]),
        ("[1, 2]", [1, 2], []),
        ('["1", 2.0]', [1, 2], []),
    ],
)
def test_items_of_a_list_that_the_reply_takes_back_are_named(
    reply: str, given: list[int], withdrawn: list[int]
) -> None:
    items = Contract(list[int]).items([reply[:3], reply[3:]])
    assert list(items) == given
    assert items.withdrawn == withdrawn
    assert items.verdict.unwrap() == given[len(withdrawn) :]
