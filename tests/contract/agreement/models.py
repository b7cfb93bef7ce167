"""pydantic models: their own rules apply, lax or strict, with aliases, extras, defaults and validators."""

from typing import Annotated, Any, Generic, Literal, Optional, TypeVar

from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    StrictInt,
    computed_field,
    create_model,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from tests.contract.agreement.row import REFUSED, Reader, broken, coerced, invalid, row, valid

MODEL = Reader.MODEL


class Person(BaseModel):
    name: str
    age: int = Field(ge=0, le=150)


class Address(BaseModel):
    city: str = Field(min_length=2)
    zip: str = Field(pattern=r"^\d{5}$")


class Customer(BaseModel):
    name: str
    address: Address
    others: list[Address] = []


class Switches(BaseModel):
    on: bool
    level: float


class Nickname(BaseModel):
    name: str
    nick: str | None = None


class Basket(BaseModel):
    items: list[str] = Field(default_factory=list)
    total: float = 0.0


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


class OpenNumbers(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int]
    name: str


class Ignoring(BaseModel):
    model_config = ConfigDict(extra="ignore")
    name: str


class Exact(BaseModel):
    model_config = ConfigDict(strict=True)
    count: int
    ok: bool


class ExactField(BaseModel):
    count: StrictInt
    label: str


class Constant(BaseModel):
    model_config = ConfigDict(frozen=True)
    name: str
    value: float


class Aliased(BaseModel):
    first_name: str = Field(alias="firstName")


class EitherName(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    first_name: str = Field(alias="firstName")


class Inbound(BaseModel):
    user_id: int = Field(validation_alias="uid", ge=1)


class Choices(BaseModel):
    email: str = Field(validation_alias=AliasChoices("email", "mail", "e_mail"))


class Deep(BaseModel):
    city: str = Field(validation_alias=AliasPath("address", "city"))


class FirstOf(BaseModel):
    main: str = Field(validation_alias=AliasPath("names", 0))


class ChoiceOfPaths(BaseModel):
    lang: str = Field(validation_alias=AliasChoices("lang", AliasPath("meta", "language")), max_length=2)


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)
    order_id: int
    line_items: list[str]


class CamelOrName(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    order_id: int


class SplitTags(BaseModel):
    tags: list[str]

    @field_validator("tags", mode="before")
    @classmethod
    def split(cls, value: Any) -> Any:
        return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


class TitleCase(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def capitalised(cls, value: str) -> str:
        if not value[:1].isupper():
            raise ValueError("must start with a capital letter")
        return value


class Doubling(BaseModel):
    value: int

    @field_validator("value", mode="after")
    @classmethod
    def double(cls, value: int) -> int:
        return value * 2


class Range(BaseModel):
    low: int
    high: int

    @model_validator(mode="after")
    def ordered(self) -> "Range":
        if self.low > self.high:
            raise ValueError("low must not exceed high")
        return self


class Outer(BaseModel):
    range: Range


class FromText(BaseModel):
    amount: float
    currency: str

    @model_validator(mode="before")
    @classmethod
    def parse(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("price"), str):
            amount, currency = data["price"].split()
            return {"amount": amount, "currency": currency}
        return data


class Box(BaseModel):
    width: float = Field(gt=0)
    height: float = Field(gt=0)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def area(self) -> float:
        return self.width * self.height


class Choice(BaseModel):
    level: Literal["low", "high"]


class Numbers(RootModel[list[int]]):
    pass


class Ratio(RootModel[Annotated[float, Field(ge=0, le=1)]]):
    pass


class Lookup(RootModel[dict[str, Person]]):
    pass


T = TypeVar("T")


class Result(BaseModel, Generic[T]):
    data: T
    error: str | None = None


class Node(BaseModel):
    value: int = Field(ge=0)
    children: list["Node"] = []


class Chain(BaseModel):
    name: str
    next: Optional["Chain"] = None


class Base(BaseModel):
    id: int = Field(gt=0)


class Derived(Base):
    note: str = Field(max_length=10)


class Stripped(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True, str_min_length=1)
    title: str


class NumbersAsText(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)
    code: str


class Mixed(BaseModel):
    done: bool
    tags: list[str]
    level: Literal["low", "high"] = "low"


class CheckedDefault(BaseModel):
    size: int = Field(default=1, ge=1, validate_default=True)


class Dynamic(BaseModel):
    payload: dict[str, Any]
    version: Literal[2]


Made = create_model("Made", name=(str, Field(min_length=2)), count=(int, 1))

PLAIN_MODELS = [
    row(
        "person",
        Person,
        MODEL,
        valid('{"name": "Ada", "age": 36}', Person(name="Ada", age=36)),
        valid('{"name": "Ada", "age": "36"}', Person(name="Ada", age=36)),
        valid('{"name": "Ada", "age": 36.0}', Person(name="Ada", age=36)),
        coerced('{"Name": "Ada", "age": 36}', {"name": "Ada", "age": 36}, Person(name="Ada", age=36)),
        coerced('{"name": 7, "age": 36}', {"name": "7", "age": 36}, Person(name="7", age=36)),
        invalid('{"name": "Ada", "age": 151}', "$.age"),
        invalid('{"name": "Ada", "age": -1}', "$.age"),
        invalid('{"name": "Ada", "age": 36.5}', "$.age"),
        invalid('{"name": "Ada", "age": "1,234"}', "$.age"),
        invalid('{"name": "Ada"}', "$.age"),
        broken("{'name': 'Ada', 'age': 36,}", {"name": "Ada", "age": 36}, Person(name="Ada", age=36)),
        broken("Sure!\n{'name': 'Ada', 'age': 500}", {"name": "Ada", "age": 500}, REFUSED, "$.age"),
    ),
    row(
        "address",
        Address,
        MODEL,
        valid('{"city": "Bonn", "zip": "53111"}', Address(city="Bonn", zip="53111")),
        coerced('{"city": "Bonn", "zip": 53111}', {"city": "Bonn", "zip": "53111"}, Address(city="Bonn", zip="53111")),
        invalid('{"city": "Bonn", "zip": "5311"}', "$.zip"),
        invalid('{"city": "Bonn", "zip": 5311}', "$.zip"),
        broken('{"city": "Bonn" "zip": "53111"}', {"city": "Bonn", "zip": "53111"}, Address(city="Bonn", zip="53111")),
    ),
    row(
        "nested model",
        Customer,
        MODEL,
        valid(
            '{"name": "Ada", "address": {"city": "Bonn", "zip": "53111"}}',
            Customer(name="Ada", address=Address(city="Bonn", zip="53111")),
        ),
        invalid('{"name": "Ada", "address": {"city": "B", "zip": "53111"}}', "$.address.city"),
        invalid(
            '{"name": "Ada", "address": {"city": "Bonn", "zip": "53111"}, "others": [{"city": "Rome", "zip": "x"}]}',
            "$.others[0].zip",
        ),
        broken(
            "{'name': 'Ada', 'address': {'city': 'Bonn', 'zip': '53111'}",
            {"name": "Ada", "address": {"city": "Bonn", "zip": "53111"}},
            Customer(name="Ada", address=Address(city="Bonn", zip="53111")),
        ),
    ),
    row(
        "lax scalars",
        Switches,
        MODEL,
        valid('{"on": true, "level": 0.5}', Switches(on=True, level=0.5)),
        valid('{"on": "yes", "level": "0.5"}', Switches(on=True, level=0.5)),
        valid('{"on": 0, "level": 1}', Switches(on=False, level=1.0)),
        valid('{"on": "off", "level": true}', Switches(on=False, level=1.0)),
        invalid('{"on": "maybe", "level": 0.5}', "$.on"),
        invalid('{"on": 2, "level": 0.5}', "$.on"),
        broken("{on: True, level: .5}", {"on": True, "level": 0.5}, Switches(on=True, level=0.5)),
    ),
    row(
        "optional field",
        Nickname,
        MODEL,
        valid('{"name": "Ada"}', Nickname(name="Ada")),
        valid('{"name": "Ada", "nick": null}', Nickname(name="Ada", nick=None)),
        invalid('{"nick": "A"}', "$.name"),
        broken("{'name': 'Ada', 'nick': None}", {"name": "Ada", "nick": None}, Nickname(name="Ada")),
    ),
    row(
        "defaults",
        Basket,
        MODEL,
        valid("{}", Basket(items=[], total=0.0)),
        valid('{"items": ["pen"], "total": "1.5"}', Basket(items=["pen"], total=1.5)),
        coerced('{"items": "pen"}', {"items": ["pen"]}, Basket(items=["pen"])),
        invalid('{"items": ["pen"], "total": "cheap"}', "$.total"),
        broken('{"items": ["pen", "ink"', {"items": ["pen", "ink"]}, Basket(items=["pen", "ink"])),
    ),
    row(
        "literal field",
        Choice,
        MODEL,
        valid('{"level": "low"}', Choice(level="low")),
        coerced('{"level": "High"}', {"level": "high"}, Choice(level="high")),
        invalid('{"level": "medium"}', "$.level"),
        broken("{'level': 'low'}", {"level": "low"}, Choice(level="low")),
    ),
    row(
        "frozen model",
        Constant,
        MODEL,
        valid('{"name": "pi", "value": 3.14}', Constant(name="pi", value=3.14)),
        invalid('{"name": "pi", "value": "about three"}', "$.value"),
        broken("{'name': 'pi', 'value': 3.14}", {"name": "pi", "value": 3.14}, Constant(name="pi", value=3.14)),
    ),
    row(
        "computed field",
        Box,
        MODEL,
        valid('{"width": 2, "height": 3}', Box(width=2, height=3)),
        invalid('{"width": 2, "height": 0}', "$.height"),
        broken("{width: 2, height: 3}", {"width": 2, "height": 3}, Box(width=2, height=3)),
    ),
    row(
        "inherited field",
        Derived,
        MODEL,
        valid('{"id": 1, "note": "short"}', Derived(id=1, note="short")),
        invalid('{"id": 0, "note": "short"}', "$.id"),
        invalid('{"id": 1, "note": "much too long"}', "$.note"),
        broken("{'id': 1, 'note': 'short'", {"id": 1, "note": "short"}, Derived(id=1, note="short")),
    ),
    row(
        "created model",
        Made,
        MODEL,
        valid('{"name": "Ada"}', Made(name="Ada", count=1)),
        invalid('{"name": "A"}', "$.name"),
        broken("{'name': 'Ada', 'count': 2}", {"name": "Ada", "count": 2}, Made(name="Ada", count=2)),
    ),
    row(
        "checked default",
        CheckedDefault,
        MODEL,
        valid("{}", CheckedDefault(size=1)),
        valid('{"size": 3}', CheckedDefault(size=3)),
        invalid('{"size": 0}', "$.size"),
        broken("```\n{'size': 3}\n```", {"size": 3}, CheckedDefault(size=3)),
    ),
    row(
        "free payload",
        Dynamic,
        MODEL,
        valid('{"payload": {"a": [1]}, "version": 2}', Dynamic(payload={"a": [1]}, version=2)),
        invalid('{"payload": {}, "version": 3}', "$.version"),
        broken(
            "{'payload': {'a': [1,]}, 'version': 2}",
            {"payload": {"a": [1]}, "version": 2},
            Dynamic(payload={"a": [1]}, version=2),
        ),
    ),
    row(
        "one field converted and another coerced",
        Mixed,
        MODEL,
        valid('{"done": "yes", "tags": ["a"]}', Mixed(done=True, tags=["a"])),
        coerced('{"done": "yes", "tags": "a"}', {"done": "yes", "tags": ["a"]}, Mixed(done=True, tags=["a"])),
        coerced(
            '{"done": "no", "tags": ["a"], "level": "HIGH"}',
            {"done": "no", "tags": ["a"], "level": "high"},
            Mixed(done=False, tags=["a"], level="high"),
        ),
        invalid('{"done": "perhaps", "tags": ["a"]}', "$.done"),
        broken("{'done': 'on', 'tags': ['a']}", {"done": "on", "tags": ["a"]}, Mixed(done=True, tags=["a"])),
    ),
]

EXTRAS = [
    row(
        "extra forbidden",
        Closed,
        MODEL,
        valid('{"name": "Ada"}', Closed(name="Ada")),
        invalid('{"name": "Ada", "zip": 1}', "$.zip"),
        broken("{'name': 'Ada'}", {"name": "Ada"}, Closed(name="Ada")),
        broken("{'name': 'Ada', 'zip': 1}", {"name": "Ada", "zip": 1}, REFUSED, "$.zip"),
    ),
    row(
        "extra allowed",
        Open,
        MODEL,
        valid('{"name": "Ada", "zip": 1}', Open(name="Ada", zip=1)),
        invalid('{"zip": 1}', "$.name"),
        broken("{'name': 'Ada', 'zip': 1}", {"name": "Ada", "zip": 1}, Open(name="Ada", zip=1)),
    ),
    row(
        "extra of one type",
        OpenNumbers,
        MODEL,
        valid('{"name": "Ada", "zip": 1}', OpenNumbers(name="Ada", zip=1)),
        valid('{"name": "Ada", "zip": "1"}', OpenNumbers(name="Ada", zip=1)),
        invalid('{"name": "Ada", "zip": "none"}', "$.zip"),
        broken("{'name': 'Ada', 'zip': 1}", {"name": "Ada", "zip": 1}, OpenNumbers(name="Ada", zip=1)),
    ),
    row(
        "extra ignored",
        Ignoring,
        MODEL,
        valid('{"name": "Ada", "zip": 1}', Ignoring(name="Ada")),
        invalid('{"name": null, "zip": 1}', "$.name"),
        broken("{name: 'Ada', zip: 1}", {"name": "Ada", "zip": 1}, Ignoring(name="Ada")),
    ),
    row(
        "strict model",
        Exact,
        MODEL,
        valid('{"count": 3, "ok": true}', Exact(count=3, ok=True)),
        coerced('{"count": "3", "ok": true}', {"count": 3, "ok": True}, Exact(count=3, ok=True)),
        coerced('{"count": 3, "ok": "true"}', {"count": 3, "ok": True}, Exact(count=3, ok=True)),
        invalid('{"count": 3, "ok": "yes"}', "$.ok"),
        invalid('{"count": true, "ok": true}', "$.count"),
        broken("{'count': 3, 'ok': True}", {"count": 3, "ok": True}, Exact(count=3, ok=True)),
    ),
    row(
        "strict field",
        ExactField,
        MODEL,
        valid('{"count": 3, "label": "a"}', ExactField(count=3, label="a")),
        invalid('{"count": 3.5, "label": "a"}', "$.count"),
        invalid('{"count": true, "label": "a"}', "$.count"),
        broken("{count: 3, label: 'a'}", {"count": 3, "label": "a"}, ExactField(count=3, label="a")),
    ),
    row(
        "whitespace by config",
        Stripped,
        MODEL,
        valid('{"title": "  Report "}', Stripped(title="Report")),
        valid('{"title": "Report"}', Stripped(title="Report")),
        invalid('{"title": "   "}', "$.title"),
        broken("{'title': ' Report'}", {"title": " Report"}, Stripped(title="Report")),
    ),
    row(
        "numbers as text by config",
        NumbersAsText,
        MODEL,
        valid('{"code": "0451"}', NumbersAsText(code="0451")),
        valid('{"code": 451}', NumbersAsText(code="451")),
        invalid('{"code": null}', "$.code"),
        broken("{'code': 451}", {"code": 451}, NumbersAsText(code="451")),
    ),
]

ALIASES = [
    row(
        "alias",
        Aliased,
        MODEL,
        valid('{"firstName": "Ada"}', Aliased(firstName="Ada")),
        invalid('{"surname": "Lovelace"}', "$.firstName"),
        broken("{'firstName': 'Ada'}", {"firstName": "Ada"}, Aliased(firstName="Ada")),
    ),
    row(
        "alias or name",
        EitherName,
        MODEL,
        valid('{"firstName": "Ada"}', EitherName(first_name="Ada")),
        valid('{"first_name": "Ada"}', EitherName(first_name="Ada")),
        invalid('{"first_name": null}', None),
        broken("{first_name: 'Ada'}", {"first_name": "Ada"}, EitherName(first_name="Ada")),
    ),
    row(
        "validation alias",
        Inbound,
        MODEL,
        valid('{"uid": 7}', Inbound(uid=7)),
        invalid('{"uid": 0}', "$.uid"),
        broken("{'uid': 7,}", {"uid": 7}, Inbound(uid=7)),
    ),
    row(
        "alias choices",
        Choices,
        MODEL,
        valid('{"email": "a@b.org"}', Choices(email="a@b.org")),
        valid('{"mail": "a@b.org"}', Choices(email="a@b.org")),
        valid('{"e_mail": "a@b.org"}', Choices(email="a@b.org")),
        invalid('{"phone": "123"}', None),
        invalid('{"mail": null}', None),
        broken("{'mail': 'a@b.org'}", {"mail": "a@b.org"}, Choices(email="a@b.org")),
    ),
    row(
        "alias path into an object",
        Deep,
        MODEL,
        valid('{"address": {"city": "Bonn"}}', Deep.model_construct(city="Bonn")),
        invalid('{"address": {"street": "Am Hof"}}', None),
        broken("{'address': {'city': 'Bonn'}", {"address": {"city": "Bonn"}}, Deep.model_construct(city="Bonn")),
    ),
    row(
        "alias path into a list",
        FirstOf,
        MODEL,
        valid('{"names": ["Ada", "Augusta"]}', FirstOf.model_construct(main="Ada")),
        invalid('{"names": []}', None),
        broken("{'names': ['Ada', 'Augusta',]}", {"names": ["Ada", "Augusta"]}, FirstOf.model_construct(main="Ada")),
    ),
    row(
        "choice of alias paths",
        ChoiceOfPaths,
        MODEL,
        valid('{"lang": "de"}', ChoiceOfPaths.model_construct(lang="de")),
        valid('{"meta": {"language": "de"}}', ChoiceOfPaths.model_construct(lang="de")),
        invalid('{"meta": {"language": "german"}}', None),
        invalid('{"lang": "german"}', "$.lang"),
        broken("{meta: {language: 'de'}}", {"meta": {"language": "de"}}, ChoiceOfPaths.model_construct(lang="de")),
    ),
    row(
        "alias generator",
        Camel,
        MODEL,
        valid('{"orderId": 7, "lineItems": ["pen"]}', Camel(orderId=7, lineItems=["pen"])),
        coerced(
            '{"orderId": 7, "lineItems": "pen"}',
            {"orderId": 7, "lineItems": ["pen"]},
            Camel(orderId=7, lineItems=["pen"]),
        ),
        coerced(
            '{"order_id": 7, "line_items": ["pen"]}',
            {"orderId": 7, "lineItems": ["pen"]},
            Camel(orderId=7, lineItems=["pen"]),
        ),
        invalid('{"orderId": "seven", "lineItems": []}', "$.orderId"),
        broken(
            "{'orderId': 7, 'lineItems': ['pen'",
            {"orderId": 7, "lineItems": ["pen"]},
            Camel(orderId=7, lineItems=["pen"]),
        ),
    ),
    row(
        "alias generator or name",
        CamelOrName,
        MODEL,
        valid('{"orderId": 7}', CamelOrName(order_id=7)),
        valid('{"order_id": "7"}', CamelOrName(order_id=7)),
        invalid('{"order_id": "seven"}', None),
        broken("{'order_id': 7}", {"order_id": 7}, CamelOrName(order_id=7)),
    ),
]

VALIDATORS = [
    row(
        "field validator before",
        SplitTags,
        MODEL,
        valid('{"tags": ["a", "b"]}', SplitTags(tags=["a", "b"])),
        valid('{"tags": "a, b"}', SplitTags(tags=["a", "b"])),
        valid('{"tags": "a"}', SplitTags(tags=["a"])),
        invalid('{"tags": ["a", null]}', "$.tags[1]"),
        broken("{'tags': 'a, b'}", {"tags": "a, b"}, SplitTags(tags=["a", "b"])),
    ),
    row(
        "field validator",
        TitleCase,
        MODEL,
        valid('{"name": "Ada"}', TitleCase(name="Ada")),
        invalid('{"name": "ada"}', "$.name"),
        broken("{'name': 'Ada'}", {"name": "Ada"}, TitleCase(name="Ada")),
        broken("{'name': 'ada'}", {"name": "ada"}, REFUSED, "$.name"),
    ),
    row(
        "field validator after that changes",
        Doubling,
        MODEL,
        valid('{"value": 4}', Doubling.model_construct(value=8)),
        valid('{"value": "4"}', Doubling.model_construct(value=8)),
        invalid('{"value": "four"}', "$.value"),
        broken("{value: 4}", {"value": 4}, Doubling.model_construct(value=8)),
    ),
    row(
        "model validator after",
        Range,
        MODEL,
        valid('{"low": 1, "high": 2}', Range(low=1, high=2)),
        invalid('{"low": 3, "high": 2}', "$"),
        broken("{'low': 1, 'high': 2}", {"low": 1, "high": 2}, Range(low=1, high=2)),
    ),
    row(
        "nested model validator",
        Outer,
        MODEL,
        valid('{"range": {"low": 1, "high": 1}}', Outer(range=Range(low=1, high=1))),
        coerced(
            '{"range": "{\\"low\\": 1, \\"high\\": 2}"}',
            {"range": {"low": 1, "high": 2}},
            Outer(range=Range(low=1, high=2)),
        ),
        invalid('{"range": {"low": 2, "high": 1}}', "$.range"),
        broken("{range: {low: 1, high: 1}", {"range": {"low": 1, "high": 1}}, Outer(range=Range(low=1, high=1))),
    ),
    row(
        "model validator before",
        FromText,
        MODEL,
        valid('{"amount": 9.5, "currency": "EUR"}', FromText(amount=9.5, currency="EUR")),
        valid('{"price": "9.5 EUR"}', FromText(amount=9.5, currency="EUR")),
        invalid('{"price": "nine EUR"}', None),
        broken("{'price': '9.5 EUR'}", {"price": "9.5 EUR"}, FromText(amount=9.5, currency="EUR")),
    ),
]

SHAPES = [
    row(
        "root model of a list",
        Numbers,
        MODEL,
        valid("[1, 2]", Numbers([1, 2])),
        valid('["1", 2]', Numbers([1, 2])),
        invalid('[1, "x"]', "$[1]"),
        broken("[1, 2,]", [1, 2], Numbers([1, 2])),
    ),
    row(
        "root model of a limited float",
        Ratio,
        MODEL,
        valid("0.5", Ratio(0.5)),
        invalid("1.5", "$"),
        broken(".5", 0.5, Ratio(0.5)),
    ),
    row(
        "root model of a dict",
        Lookup,
        MODEL,
        valid('{"ada": {"name": "Ada", "age": 36}}', Lookup({"ada": Person(name="Ada", age=36)})),
        coerced(
            '{"ada": {"Name": "Ada", "age": "36"}}',
            {"ada": {"name": "Ada", "age": "36"}},
            Lookup({"ada": Person(name="Ada", age=36)}),
        ),
        invalid('{"ada": {"name": "Ada", "age": 500}}', "$.ada.age"),
        broken(
            "{'ada': {'name': 'Ada', 'age': 36}",
            {"ada": {"name": "Ada", "age": 36}},
            Lookup({"ada": Person(name="Ada", age=36)}),
        ),
    ),
    row(
        "generic model of int",
        Result[int],
        MODEL,
        valid('{"data": 5}', Result[int](data=5)),
        invalid('{"data": "five"}', "$.data"),
        broken("{'data': 5, 'error': None}", {"data": 5, "error": None}, Result[int](data=5)),
    ),
    row(
        "generic model of a model",
        Result[Person],
        MODEL,
        valid('{"data": {"name": "Ada", "age": 36}}', Result[Person](data=Person(name="Ada", age=36))),
        invalid('{"data": {"name": "Ada", "age": -1}}', "$.data.age"),
        broken(
            '{"data": {"name": "Ada", "age": 36,}}',
            {"data": {"name": "Ada", "age": 36}},
            Result[Person](data=Person(name="Ada", age=36)),
        ),
    ),
    row(
        "generic model of a list",
        Result[list[str]],
        MODEL,
        valid('{"data": ["a"]}', Result[list[str]](data=["a"])),
        coerced('{"data": "a"}', {"data": ["a"]}, Result[list[str]](data=["a"])),
        invalid('{"data": [null, "a"]}', "$.data[0]"),
        broken("{'data': ['a', 'b'}", {"data": ["a", "b"]}, Result[list[str]](data=["a", "b"])),
    ),
    row(
        "tree",
        Node,
        MODEL,
        valid('{"value": 1, "children": [{"value": 2}]}', Node(value=1, children=[Node(value=2)])),
        coerced(
            '{"value": "1", "children": {"value": 2}}',
            {"value": "1", "children": [{"value": 2}]},
            Node(value=1, children=[Node(value=2)]),
        ),
        invalid('{"value": 1, "children": [{"value": -2}]}', "$.children[0].value"),
        invalid(
            '{"value": 1, "children": [{"value": 2, "children": [{"value": -3}]}]}', "$.children[0].children[0].value"
        ),
        broken(
            "{'value': 1, 'children': [{'value': 2}]",
            {"value": 1, "children": [{"value": 2}]},
            Node(value=1, children=[Node(value=2)]),
        ),
    ),
    row(
        "chain",
        Chain,
        MODEL,
        valid('{"name": "a", "next": {"name": "b"}}', Chain(name="a", next=Chain(name="b"))),
        valid('{"name": "a", "next": null}', Chain(name="a")),
        invalid('{"name": "a", "next": {"name": null}}', "$.next.name"),
        broken(
            "{name: 'a', next: {name: 'b'}}",
            {"name": "a", "next": {"name": "b"}},
            Chain(name="a", next=Chain(name="b")),
        ),
    ),
]

ROWS = PLAIN_MODELS + EXTRAS + ALIASES + VALIDATORS + SHAPES
