"""The type sees the value first: if it accepts the value, its reading counts; coercion runs only if it refuses."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Literal

import msgspec
import pytest
from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    create_model,
    field_validator,
    model_validator,
)

from trueup import Contract, Fix, Verdict, execute


def split(value: Any) -> Any:
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


Tags = Annotated[list[str], BeforeValidator(split)]


class Article(BaseModel):
    title: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    tags: list[str] = []
    published: bool = False

    @field_validator("tags", mode="before")
    @classmethod
    def split_tags(cls, value: Any) -> Any:
        return split(value)


class Task(BaseModel):
    done: bool
    steps: list[str]
    level: Literal["low", "high"] = "low"
    effort: int = Field(default=1, ge=1)


def changes(verdict: Verdict[Any]) -> list[tuple[str, str, str, str]]:
    """Name, path, before and after of each fix."""
    return [(fix.name, fix.path, fix.before, fix.after) for fix in verdict.fixes]


def excerpt(fix: Fix, text: str) -> str:
    assert fix.span is not None
    return text[slice(*fix.span)]


def test_a_validator_of_the_user_reads_the_string_before_we_wrap_it() -> None:
    verdict = Contract(Article).check('{"title": "Tea", "tags": "green, black"}')
    assert verdict.unwrap().tags == ["green", "black"]
    assert changes(verdict) == [("type-converted", "$.tags", '"green, black"', '["green","black"]')]
    assert [fix.grade for fix in verdict.fixes] == ["lossless"]
    assert verdict.data["tags"] == ["green", "black"]


def test_conversions_of_the_type_are_lossless() -> None:
    reply = '{"title": " Tea ", "tags": "green", "published": "yes"}'
    verdict = Contract(Article, accept="lossless").check(reply)
    assert verdict.unwrap() == Article(title="Tea", tags=["green"], published=True)
    strict = Contract(Task, accept="lossless").check('{"done": true, "steps": "boil"}')
    assert not strict.ok, "our own guess is not what the type accepts"


def test_coerce_off_leaves_the_type_its_own_reading() -> None:
    contract = Contract(Task, coerce="off")
    assert contract.check('{"done": "yes", "steps": ["boil"]}').unwrap().done is True
    assert not contract.check('{"done": true, "steps": "boil"}').ok


@pytest.mark.parametrize(("key"), ["email", "mail", "contact_address"])
def test_every_name_of_alias_choices_is_read(key: str) -> None:
    class Contact(BaseModel):
        email: str = Field(validation_alias=AliasChoices("email", "mail", "contact_address"))

    verdict = Contract(Contact).check(f"Sure! {{'{key}': 'ada@example.org'}}")
    assert verdict.unwrap().email == "ada@example.org"


def test_an_alias_path_is_followed() -> None:
    class Place(BaseModel):
        city: str = Field(validation_alias=AliasPath("address", "city"))
        first: str = Field(validation_alias=AliasPath("names", 0))

    verdict = Contract(Place).check("{'address': {'city': 'Bonn'}, 'names': ['Ada', 'Augusta']}")
    place = verdict.unwrap()
    assert (place.city, place.first) == ("Bonn", "Ada")
    refused = Contract(Place).check('{"address": {"street": "Am Hof"}, "names": ["Ada"]}')
    assert not refused.ok
    assert refused.errors[0].path.startswith(("$.address", "$.city"))


def test_populate_by_name_takes_both_names() -> None:
    class Order(BaseModel):
        model_config = ConfigDict(populate_by_name=True, extra="forbid")
        order_id: int = Field(alias="orderId", ge=1)

    contract = Contract(Order)
    assert contract.check('{"orderId": 7}').fixes == ()
    assert contract.check('{"order_id": 7}').unwrap().order_id == 7
    assert not contract.check('{"order_id": 0}').ok
    assert not contract.check('{"orderId": 0}').ok


def test_whitespace_is_stripped_by_the_type_and_reported() -> None:
    verdict = Contract(Article).check('{"title": "  Tea "}')
    assert verdict.unwrap().title == "Tea"
    assert changes(verdict) == [("type-converted", "$.title", '"  Tea "', '"Tea"')]
    assert not Contract(Article).check('{"title": "   "}').ok


@pytest.mark.spec("B4")
def test_yes_is_true_for_a_model_and_nothing_for_a_plain_annotation() -> None:
    @dataclass
    class Plain:
        done: bool

    class Lax(BaseModel):
        done: bool

    class Strict(BaseModel):
        model_config = ConfigDict(strict=True)
        done: bool

    assert Contract(Lax).check('{"done": "yes"}').unwrap().done is True
    assert not Contract(Strict).check('{"done": "yes"}').ok
    assert not Contract(Plain).check('{"done": "yes"}').ok
    assert Contract(Plain).check('{"done": "true"}').unwrap().done is True


def test_a_set_drops_duplicates_and_says_so() -> None:
    class Group(BaseModel):
        members: set[str]

    verdict = Contract(Group).check('{"members": ["ada", "grace", "ada"]}')
    assert verdict.unwrap().members == {"ada", "grace"}
    assert [(fix.name, fix.path) for fix in verdict.fixes] == [("type-converted", "$.members")]
    assert Contract(Group).check('{"members": ["ada", "grace"]}').fixes == ()


@pytest.mark.parametrize("written", ['"PT1H"', "3600", '"01:00:00"'])
def test_a_duration_is_read_as_the_model_reads_it(written: str) -> None:
    class Timer(BaseModel):
        length: timedelta

    assert Contract(Timer).check(f'{{"length": {written}}}').unwrap().length == timedelta(hours=1)


def test_a_lazy_field_is_handed_over_unread() -> None:
    class Batch(BaseModel):
        numbers: Iterable[int]

    verdict = Contract(Batch).check('{"numbers": [1, 2]}')
    assert list(verdict.unwrap().numbers) == [1, 2]
    assert verdict.fixes == ()


def test_one_field_is_converted_by_the_type_while_another_needs_our_coercion() -> None:
    verdict = Contract(Task).check('{"done": "yes", "steps": "boil", "level": "HIGH", "effort": "2"}')
    assert verdict.unwrap() == Task(done=True, steps=["boil"], level="high", effort=2)
    assert changes(verdict) == [
        ("type-converted", "$.done", '"yes"', "true"),
        ("wrapped-in-list", "$.steps", '"boil"', '["boil"]'),
        ("enum-matched", "$.level", '"HIGH"', '"high"'),
        ("type-converted", "$.effort", '"2"', "2"),
    ]


def test_one_bad_field_does_not_undo_the_others() -> None:
    verdict = Contract(Task).check('{"done": "yes", "steps": "boil", "effort": 0}')
    assert [(f.code, f.path) for f in verdict.errors] == [("V004", "$.effort")]
    assert verdict.data["steps"] == ["boil"]


def test_items_of_a_list_are_read_one_by_one() -> None:
    reply = '[{"done": "yes", "steps": "boil"}, {"done": "no", "steps": ["pour"]}]'
    verdict = Contract(list[Task]).check(reply)
    assert verdict.unwrap() == [Task(done=True, steps=["boil"]), Task(done=False, steps=["pour"])]
    assert [(fix.name, fix.path) for fix in verdict.fixes] == [
        ("type-converted", "$[0].done"),
        ("wrapped-in-list", "$[0].steps"),
        ("type-converted", "$[1].done"),
    ]


def test_fixes_point_into_the_text_of_the_reply() -> None:
    reply = 'Here you go:\n```json\n{\n  "title": " Tea ",\n  "tags": "green, black",\n  "published": "yes",\n}\n```'
    verdict = Contract(Article).check(reply)
    assert verdict.unwrap() == Article(title="Tea", tags=["green", "black"], published=True)
    converted = [fix for fix in verdict.fixes if fix.name == "type-converted"]
    assert [(fix.path, excerpt(fix, reply)) for fix in converted] == [
        ("$.title", '" Tea "'),
        ("$.tags", '"green, black"'),
        ("$.published", '"yes"'),
    ]
    assert [fix.before for fix in converted] == [excerpt(fix, reply) for fix in converted]


@pytest.mark.spec("B5")
def test_rules_see_the_converted_data() -> None:
    rules = [
        {"name": "two tags", "expr": "len(tags) == 2", "error": "give two tags, not {tags}"},
        {"name": "published", "expr": "published == True", "error": "not published"},
    ]
    contract = Contract(Article, rules=rules)
    assert contract.check('{"title": "Tea", "tags": "green, black", "published": "yes"}').ok
    refused = contract.check('{"title": "Tea", "tags": "green", "published": "yes"}')
    assert [(f.code, f.message) for f in refused.errors] == [("B005", 'give two tags, not ["green"]')]


@pytest.mark.spec("T5")
def test_arguments_of_a_tool_are_read_by_their_types() -> None:
    ran: list[Any] = []

    def publish(article: Article, tags: Tags, pages: Annotated[int, Field(ge=1, le=9)], loud: bool = False) -> str:  # noqa: FBT002 - as users write it
        ran.append((article, tags, pages, loud))
        return "done"

    contract = Contract(tools=[publish])
    call = '<tool_call>{{"name": "publish", "arguments": {}}}</tool_call>'
    given = '{"article": {"title": " Tea ", "published": "on"}, "tags": "a, b", "pages": "3", "loud": "true"}'
    verdict = contract.check(call.format(given))
    execute(verdict, [publish])
    assert ran == [(Article(title="Tea", published=True), ["a", "b"], 3, True)]
    assert {(fix.name, fix.path) for fix in verdict.fixes if fix.code.startswith("C")} == {
        ("type-converted", "$.calls[0].args.article.title"),
        ("type-converted", "$.calls[0].args.article.published"),
        ("type-converted", "$.calls[0].args.tags"),
        ("to-integer", "$.calls[0].args.pages"),
        ("to-boolean", "$.calls[0].args.loud"),
    }
    refused = contract.check(call.format(given.replace('"true"', '"yes"')))
    assert [f.path for f in refused.errors] == ["$.calls[0].args.loud"], "a plain annotation does not take yes for true"
    assert not execute(refused, [publish]).done


def test_every_name_of_a_field_is_coerced_and_found_in_the_text() -> None:
    class Contact(BaseModel):
        email: str = Field(validation_alias=AliasChoices("email", "mail"))

    class Book(BaseModel):
        first: Contact
        others: list[Contact] = []

    reply = 'Sure: {"first": {"mail": 5}, "others": [{"mail": "a@b.c"}]}'
    verdict = Contract(Book).check(reply)
    assert verdict.unwrap().first.email == "5"
    assert verdict.data == {"first": {"email": "5"}, "others": [{"email": "a@b.c"}]}
    assert [(fix.code, fix.path, excerpt(fix, reply)) for fix in verdict.fixes if fix.code[0] == "C"] == [
        ("C010", "$.first.email", '"mail"'),
        ("C008", "$.first.email", "5"),
        ("C018", "$.others[0].email", '"mail"'),
    ]


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: Annotated[int, Field(le=9)]


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str

    @model_validator(mode="after")
    def has_a_name(self) -> "Dog":
        if not self.name:
            raise ValueError("a dog has a name")
        return self


def faults(source: Any, reply: str) -> list[tuple[str, str]]:
    return [(found.code, found.path) for found in Contract(source).check(reply).errors]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"kind": "cat", "lives": 10}', [("V004", "$.lives")]),
        ('{"kind": "cat", "lives": "many"}', [("V001", "$.lives")]),
        ('{"kind": "dog"}', [("V002", "$.name")]),
    ],
)
def test_only_the_intended_arm_of_a_union_is_reported(reply: str, expected: list[tuple[str, str]]) -> None:
    assert faults(Cat | Dog, reply) == expected
    inside = [(code, path.replace("$", "$.pets[1]")) for code, path in expected]
    pets = create_model("Pets", pets=list[Cat | Dog])
    assert faults(pets, f'{{"pets": [{{"kind": "cat", "lives": 1}}, {reply}]}}') == inside


def test_the_name_of_an_arm_is_not_a_key_of_the_data() -> None:
    found = faults(Cat | Dog, '{"kind": "dog", "name": ""}')
    assert ("V012", "$") in found
    assert not {path for _, path in found} - {"$", "$.kind", "$.lives"}
    (one,) = [one for one in Contract(Cat | Dog).check('{"kind": "dog", "name": ""}').errors if one.path == "$"]
    assert "Dog" in one.data["arms"]["$"]
    assert faults(int | dict[str, Cat], '{"a": {"kind": "cat", "lives": "x"}, "b": {}}')[0] == ("V001", "$.a.lives")


def test_a_bad_default_has_the_place_of_its_field() -> None:
    class Draft(BaseModel):
        model_config = ConfigDict(validate_default=True)
        size: Annotated[int, Field(ge=1)] = 0

    assert faults(Draft, "{}") == [("V012", "$.size")]
    assert ("V012", "$.size") in faults(Draft | int, "{}")


class Step(msgspec.Struct, forbid_unknown_fields=True):
    name: str


@dataclass
class Plan:
    steps: dict[str, list[Step]]
    title: str


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"steps": {}}', ("V002", "$.title")),
        ('{"title": "x", "steps": {"a": [], "b": [{"name": "n"}, {}]}}', ("V002", "$.steps.b[1].name")),
        ('{"title": "x", "steps": {"a": [{"name": "n", "more": 1}]}}', ("V003", "$.steps.a[0].more")),
    ],
)
def test_a_fault_is_reported_once_and_at_its_field(reply: str, expected: tuple[str, str]) -> None:
    assert faults(Plan, reply) == [expected]
