"""Tool functions: each returns its arguments by name, so that a test can compare them.

A reply here is the text of the call's arguments; the test wraps it in the call.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict
from uuid import UUID

import annotated_types as at
import msgspec
from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, Field, StringConstraints

from tests.contract.agreement.row import REFUSED, Reader, broken, coerced, invalid, tool, valid

PLAIN, LIMITED, MODEL, CHECKED = Reader.PLAIN, Reader.LIMITED, Reader.MODEL, Reader.CHECKED
TEN = datetime(2024, 1, 31, 10)  # noqa: DTZ001 - the replies name no zone


def split(value: Any) -> Any:
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def known_city(name: str) -> str:
    if name not in {"Bonn", "Rome"}:
        raise ValueError("no such city")
    return name


class Priority(Enum):
    LOW = "low"
    HIGH = "high"


class Person(BaseModel):
    name: str
    member: bool = False


class Search(BaseModel):
    query: str = Field(validation_alias=AliasChoices("query", "q"))
    limit: int = Field(default=10, ge=1, le=50)


@dataclass
class Item:
    sku: Annotated[str, Field(pattern=r"^[A-Z]\d+$")]
    count: Annotated[int, Field(ge=1)] = 1


class Address(TypedDict):
    street: str
    number: int


class Ticket(msgspec.Struct):
    title: Annotated[str, msgspec.Meta(min_length=3)]
    urgent: bool = False


def add(a: int, b: int) -> dict[str, Any]:
    return {"a": a, "b": b}


def toggle(on: bool) -> dict[str, Any]:
    return {"on": on}


def greet(name: str, times: int = 1) -> dict[str, Any]:
    """Greet somebody.

    Args: name: The person to greet. times: How many times.
    """
    return {"name": name, "times": times}


def search(query: str, tags: list[str] | None = None) -> dict[str, Any]:
    return {"query": query, "tags": tags}


def describe(
    city: Annotated[str, "the city's English name"], days: Annotated[int, "how far to look ahead"] = 3
) -> dict[str, Any]:
    return {"city": city, "days": days}


def refund(amount: Annotated[int, Field(ge=1, le=100)], reason: str = "") -> dict[str, Any]:
    return {"amount": amount, "reason": reason}


def discount(percent: Annotated[float, at.Interval(ge=0, lt=50)]) -> dict[str, Any]:
    return {"percent": percent}


def rate(stars: list[Annotated[int, at.Interval(ge=1, le=5)]]) -> dict[str, Any]:
    return {"stars": stars}


def weigh(weights: dict[str, Annotated[float, Field(gt=0)]]) -> dict[str, Any]:
    return {"weights": weights}


def convert(
    currency: Annotated[str, StringConstraints(strip_whitespace=True, to_upper=True, pattern=r"^[A-Za-z]{3}$")],
) -> dict[str, Any]:
    return {"currency": currency}


def forecast(city: Annotated[str, AfterValidator(known_city)], days: Annotated[int, Field(le=7)] = 3) -> dict[str, Any]:
    return {"city": city, "days": days}


def label(tags: Annotated[list[str], BeforeValidator(split)]) -> dict[str, Any]:
    return {"tags": tags}


def invite(person: Person) -> dict[str, Any]:
    return {"person": person}


def invite_all(people: list[Person], note: str = "") -> dict[str, Any]:
    return {"people": people, "note": note}


def look_up(search: Search) -> dict[str, Any]:
    return {"search": search}


def order(item: Item) -> dict[str, Any]:
    return {"item": item}


def deliver(address: Address) -> dict[str, Any]:
    return {"address": address}


def open_ticket(ticket: Ticket) -> dict[str, Any]:
    return {"ticket": ticket}


def book(day: date, nights: Annotated[int, Field(ge=1, le=30)] = 1) -> dict[str, Any]:
    return {"day": day, "nights": nights}


def remind(at_time: datetime) -> dict[str, Any]:
    return {"at_time": at_time}


def wait(length: timedelta) -> dict[str, Any]:
    return {"length": length}


def pay(amount: Decimal) -> dict[str, Any]:
    return {"amount": amount}


def fetch(id: UUID) -> dict[str, Any]:  # noqa: A002 - a parameter that models see
    return {"id": id}


def save(path: Path, overwrite: bool = False) -> dict[str, Any]:  # noqa: FBT002 - as users write them
    return {"path": path, "overwrite": overwrite}


def file_bug(priority: Priority) -> dict[str, Any]:
    return {"priority": priority}


def sort(by: Literal["name", "date"], descending: bool = False) -> dict[str, Any]:  # noqa: FBT002 - as users write them
    return {"by": by, "descending": descending}


def select(ids: set[int]) -> dict[str, Any]:
    return {"ids": ids}


def move(to: tuple[float, float]) -> dict[str, Any]:
    return {"to": to}


def find(key: int | str) -> dict[str, Any]:
    return {"key": key}


def limit(top: Annotated[int, Field(ge=1)] | None = None) -> dict[str, Any]:
    return {"top": top}


def page(number: int = Field(default=1, ge=1)) -> dict[str, Any]:
    return {"number": number}


def only_keywords(*, text: Annotated[str, Field(min_length=2)], loud: bool = False) -> dict[str, Any]:
    return {"text": text, "loud": loud}


TOOLS = [
    tool(
        add,
        PLAIN,
        valid('{"a": 2, "b": 3}', {"a": 2, "b": 3}),
        coerced('{"a": 2, "b": "3"}', {"a": 2, "b": 3}, {"a": 2, "b": 3}),
        coerced('{"a": 2.0, "b": 3}', {"a": 2, "b": 3}, {"a": 2, "b": 3}),
        invalid('{"a": 2, "b": "three"}', "b"),
        invalid('{"a": 2, "b": true}', "b"),
        invalid('{"a": 2, "b": 3.5}', "b"),
        invalid('{"a": 2}', "b"),
        broken("{'a': 2, 'b': 3,}", {"a": 2, "b": 3}, {"a": 2, "b": 3}),
    ),
    tool(
        toggle,
        PLAIN,
        valid('{"on": true}', {"on": True}),
        coerced('{"on": "FALSE"}', {"on": False}, {"on": False}),
        invalid('{"on": "yes"}', "on"),
        invalid('{"on": 1}', "on"),
        broken("{'on': True}", {"on": True}, {"on": True}),
    ),
    tool(
        greet,
        PLAIN,
        valid('{"name": "Ada"}', {"name": "Ada", "times": 1}),
        coerced('{"name": "Ada", "times": " 2 "}', {"name": "Ada", "times": 2}, {"name": "Ada", "times": 2}),
        invalid('{"name": "Ada", "times": "often"}', "times"),
        invalid('{"times": 2}', "name"),
        broken("{name: 'Ada', times: 2}", {"name": "Ada", "times": 2}, {"name": "Ada", "times": 2}),
    ),
    tool(
        search,
        PLAIN,
        valid('{"query": "tea", "tags": ["a"]}', {"query": "tea", "tags": ["a"]}),
        valid('{"query": "tea", "tags": null}', {"query": "tea", "tags": None}),
        coerced(
            '{"query": "tea", "tags": "hot"}', {"query": "tea", "tags": ["hot"]}, {"query": "tea", "tags": ["hot"]}
        ),
        invalid('{"query": "tea", "tags": ["a", null]}', None),
        broken("{'query': 'tea', 'tags': ['a',]}", {"query": "tea", "tags": ["a"]}, {"query": "tea", "tags": ["a"]}),
    ),
    tool(
        describe,
        PLAIN,
        valid('{"city": "Bonn"}', {"city": "Bonn", "days": 3}),
        invalid('{"city": null}', "city"),
        invalid('{"city": "Bonn", "days": "a week"}', "days"),
        broken("{'city': 'Bonn', 'days': 5}", {"city": "Bonn", "days": 5}, {"city": "Bonn", "days": 5}),
    ),
    tool(
        refund,
        LIMITED,
        valid('{"amount": 100}', {"amount": 100, "reason": ""}),
        coerced(
            '{"amount": "20", "reason": "late"}', {"amount": 20, "reason": "late"}, {"amount": 20, "reason": "late"}
        ),
        invalid('{"amount": 5000}', "amount"),
        invalid('{"amount": "5000"}', "amount"),
        invalid('{"amount": 0}', "amount"),
        invalid('{"amount": true}', "amount"),
        broken("{'amount': 100,}", {"amount": 100}, {"amount": 100, "reason": ""}),
        broken("{'amount': 5000,}", {"amount": 5000}, REFUSED, "amount"),
    ),
    tool(
        discount,
        LIMITED,
        valid('{"percent": 49.5}', {"percent": 49.5}),
        invalid('{"percent": 50}', "percent"),
        invalid('{"percent": "45 %"}', "percent"),
        broken("{'percent': .5}", {"percent": 0.5}, {"percent": 0.5}),
    ),
    tool(
        rate,
        LIMITED,
        valid('{"stars": [1, 5]}', {"stars": [1, 5]}),
        coerced('{"stars": 4}', {"stars": [4]}, {"stars": [4]}),
        invalid('{"stars": [1, 6]}', "stars[1]"),
        broken("{'stars': [1, 5,]}", {"stars": [1, 5]}, {"stars": [1, 5]}),
    ),
    tool(
        weigh,
        LIMITED,
        valid('{"weights": {"a": 0.5}}', {"weights": {"a": 0.5}}),
        invalid('{"weights": {"a": 0}}', "weights.a"),
        broken("{'weights': {'a': 0.5,}}", {"weights": {"a": 0.5}}, {"weights": {"a": 0.5}}),
    ),
    tool(
        convert,
        LIMITED,
        valid('{"currency": " eur "}', {"currency": "EUR"}),
        valid('{"currency": "EUR"}', {"currency": "EUR"}),
        invalid('{"currency": "euro"}', "currency"),
        broken("{'currency': 'usd'}", {"currency": "usd"}, {"currency": "USD"}),
    ),
    tool(
        forecast,
        CHECKED,
        valid('{"city": "Bonn", "days": 7}', {"city": "Bonn", "days": 7}),
        invalid('{"city": "Atlantis"}', "city"),
        invalid('{"city": "Bonn", "days": 8}', "days"),
        broken("{city: 'Rome'}", {"city": "Rome"}, {"city": "Rome", "days": 3}),
    ),
    tool(
        label,
        MODEL,
        valid('{"tags": "a, b"}', {"tags": ["a", "b"]}),
        valid('{"tags": ["a"]}', {"tags": ["a"]}),
        invalid('{"tags": ["a", null]}', "tags[1]"),
        broken("{'tags': 'a, b'}", {"tags": "a, b"}, {"tags": ["a", "b"]}),
    ),
    tool(
        invite,
        MODEL,
        valid('{"person": {"name": "Ada"}}', {"person": Person(name="Ada")}),
        valid('{"person": {"name": "Ada", "member": "yes"}}', {"person": Person(name="Ada", member=True)}),
        invalid('{"person": {"name": "Ada", "member": "once"}}', "person.member"),
        invalid('{"person": {"member": true}}', "person.name"),
        broken("{'person': {'name': 'Ada',}}", {"person": {"name": "Ada"}}, {"person": Person(name="Ada")}),
    ),
    tool(
        invite_all,
        MODEL,
        valid('{"people": [{"name": "Ada"}]}', {"people": [Person(name="Ada")], "note": ""}),
        coerced(
            '{"people": {"name": "Ada"}}', {"people": [{"name": "Ada"}]}, {"people": [Person(name="Ada")], "note": ""}
        ),
        invalid('{"people": [{"name": null}]}', "people[0].name"),
        broken(
            "{'people': [{'name': 'Ada'}], 'note': 'hi'}",
            {"people": [{"name": "Ada"}], "note": "hi"},
            {"people": [Person(name="Ada")], "note": "hi"},
        ),
    ),
    tool(
        look_up,
        MODEL,
        valid('{"search": {"q": "tea"}}', {"search": Search(q="tea")}),
        valid('{"search": {"query": "tea", "limit": 50}}', {"search": Search(query="tea", limit=50)}),
        invalid('{"search": {"q": "tea", "limit": 51}}', "search.limit"),
        broken("{'search': {'q': 'tea'}}", {"search": {"q": "tea"}}, {"search": Search(q="tea")}),
    ),
    tool(
        order,
        LIMITED,
        valid('{"item": {"sku": "A1"}}', {"item": Item("A1")}),
        coerced('{"item": {"sku": "A1", "count": "2"}}', {"item": {"sku": "A1", "count": 2}}, {"item": Item("A1", 2)}),
        invalid('{"item": {"sku": "1A"}}', "item.sku"),
        invalid('{"item": {"sku": "A1", "count": 0}}', "item.count"),
        broken("{item: {sku: 'A1'}}", {"item": {"sku": "A1"}}, {"item": Item("A1")}),
    ),
    tool(
        deliver,
        PLAIN,
        valid('{"address": {"street": "Am Hof", "number": 7}}', {"address": {"street": "Am Hof", "number": 7}}),
        coerced(
            '{"address": {"street": "Am Hof", "number": "7"}}',
            {"address": {"street": "Am Hof", "number": 7}},
            {"address": {"street": "Am Hof", "number": 7}},
        ),
        invalid('{"address": {"street": "Am Hof"}}', "address.number"),
        broken(
            "{'address': {'street': 'Am Hof', 'number': 7}}",
            {"address": {"street": "Am Hof", "number": 7}},
            {"address": {"street": "Am Hof", "number": 7}},
        ),
    ),
    tool(
        open_ticket,
        PLAIN,
        valid('{"ticket": {"title": "Broken lamp"}}', {"ticket": Ticket("Broken lamp")}),
        invalid('{"ticket": {"title": "Hi"}}', "ticket.title"),
        broken(
            "{'ticket': {'title': 'Broken lamp', 'urgent': True}}",
            {"ticket": {"title": "Broken lamp", "urgent": True}},
            {"ticket": Ticket("Broken lamp", True)},
        ),
    ),
    tool(
        book,
        LIMITED,
        valid('{"day": "2024-02-29"}', {"day": date(2024, 2, 29), "nights": 1}),
        coerced(
            '{"day": "2024-02-29", "nights": "2"}',
            {"day": "2024-02-29", "nights": 2},
            {"day": date(2024, 2, 29), "nights": 2},
        ),
        invalid('{"day": "2023-02-29"}', "day"),
        invalid('{"day": "2024-02-29", "nights": 31}', "nights"),
        broken(
            "{'day': '2024-02-29', 'nights': 3}",
            {"day": "2024-02-29", "nights": 3},
            {"day": date(2024, 2, 29), "nights": 3},
        ),
    ),
    tool(
        remind,
        PLAIN,
        valid('{"at_time": "2024-01-31T10:00:00"}', {"at_time": TEN}),
        invalid('{"at_time": "at ten"}', "at_time"),
        broken(
            "{at_time: '2024-01-31T10:00:00'}",
            {"at_time": "2024-01-31T10:00:00"},
            {"at_time": TEN},
        ),
    ),
    tool(
        wait,
        PLAIN,
        valid('{"length": "PT1H"}', {"length": timedelta(hours=1)}),
        invalid('{"length": "a while"}', "length"),
        broken("{'length': 'PT1H'}", {"length": "PT1H"}, {"length": timedelta(hours=1)}),
    ),
    tool(
        pay,
        PLAIN,
        valid('{"amount": "19.90"}', {"amount": Decimal("19.90")}),
        invalid('{"amount": "a lot"}', "amount"),
        broken("{'amount': '19.90'}", {"amount": "19.90"}, {"amount": Decimal("19.90")}),
    ),
    tool(
        fetch,
        PLAIN,
        valid('{"id": "0f8fad5b-d9cb-469f-a165-70867728950e"}', {"id": UUID("0f8fad5b-d9cb-469f-a165-70867728950e")}),
        invalid('{"id": "first"}', "id"),
        broken(
            "{'id': '0f8fad5b-d9cb-469f-a165-70867728950e'}",
            {"id": "0f8fad5b-d9cb-469f-a165-70867728950e"},
            {"id": UUID("0f8fad5b-d9cb-469f-a165-70867728950e")},
        ),
    ),
    tool(
        save,
        LIMITED,
        valid('{"path": "a/b.txt"}', {"path": Path("a/b.txt"), "overwrite": False}),
        coerced(
            '{"path": "a.txt", "overwrite": "true"}',
            {"path": "a.txt", "overwrite": True},
            {"path": Path("a.txt"), "overwrite": True},
        ),
        invalid('{"path": null}', "path"),
        invalid('{"path": "a.txt", "overwrite": "yes"}', "overwrite"),
        broken("{'path': 'a/b.txt'}", {"path": "a/b.txt"}, {"path": Path("a/b.txt"), "overwrite": False}),
    ),
    tool(
        file_bug,
        PLAIN,
        valid('{"priority": "high"}', {"priority": Priority.HIGH}),
        coerced('{"priority": "HIGH"}', {"priority": "high"}, {"priority": Priority.HIGH}),
        invalid('{"priority": "middling"}', "priority"),
        broken("{priority: 'low'}", {"priority": "low"}, {"priority": Priority.LOW}),
    ),
    tool(
        sort,
        PLAIN,
        valid('{"by": "name"}', {"by": "name", "descending": False}),
        invalid('{"by": "colour"}', "by"),
        broken(
            "{'by': 'date', 'descending': True}", {"by": "date", "descending": True}, {"by": "date", "descending": True}
        ),
    ),
    tool(
        select,
        PLAIN,
        valid('{"ids": [1, 2, 2]}', {"ids": {1, 2}}),
        coerced('{"ids": ["1", 2]}', {"ids": [1, 2]}, {"ids": {1, 2}}),
        invalid('{"ids": [1, "two"]}', "ids[1]"),
        broken("{'ids': [1, 2,]}", {"ids": [1, 2]}, {"ids": {1, 2}}),
    ),
    tool(
        move,
        PLAIN,
        valid('{"to": [1.5, 2]}', {"to": (1.5, 2.0)}),
        invalid('{"to": [1.5, 2, 3]}', "to"),
        invalid('{"to": [1.5, "up"]}', "to[1]"),
        broken("{'to': (1.5, 2)}", {"to": [1.5, 2]}, {"to": (1.5, 2.0)}),
    ),
    tool(
        find,
        PLAIN,
        valid('{"key": 7}', {"key": 7}),
        valid('{"key": "7"}', {"key": "7"}),
        invalid('{"key": null}', "key"),
        broken("{'key': '7'}", {"key": "7"}, {"key": "7"}),
    ),
    tool(
        limit,
        LIMITED,
        valid("{}", {"top": None}),
        valid('{"top": null}', {"top": None}),
        valid('{"top": 5}', {"top": 5}),
        invalid('{"top": 0}', "top"),
        broken("{'top': 5,}", {"top": 5}, {"top": 5}),
    ),
    tool(
        page,
        LIMITED,
        valid('{"number": 2}', {"number": 2}),
        valid("{}", {"number": 1}),
        invalid('{"number": 0}', "number"),
        broken("{'number': 2}", {"number": 2}, {"number": 2}),
    ),
    tool(
        only_keywords,
        LIMITED,
        valid('{"text": "hey"}', {"text": "hey", "loud": False}),
        invalid('{"text": "h"}', "text"),
        invalid('{"text": "hey", "loud": "yes"}', "loud"),
        broken("{text: 'hey', loud: True}", {"text": "hey", "loud": True}, {"text": "hey", "loud": True}),
    ),
]
