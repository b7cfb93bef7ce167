"""A user's program, for `test_checkers.py`: mypy and pyright must report at each line what its comment says, and nothing else.

`# is: T` is the type that `reveal_type` shows; `# error: CODES; RULES` lists mypy's error codes and pyright's rules.
Type checkers read this program; its functions are never called.
"""

import asyncio
import dataclasses
from collections.abc import Callable
from typing import Annotated, Any, Literal, Optional, TypedDict, Union, Unpack, reveal_type

import msgspec
import pydantic

from trueup import Answer, Context, Contract, Conversation, Policy, Price, Rejected, ToolCall, Verdict
from trueup.ask.cache import MemoryCache
from trueup.contract.option_types import ContractOptions
from trueup.watch.observe import observed


class Person(pydantic.BaseModel):
    name: str
    age: int


class Company(pydantic.BaseModel):
    title: str


@dataclasses.dataclass
class Point:
    x: int


class Row(TypedDict):
    name: str


class Guest(msgspec.Struct):
    name: str


Model = Callable[[list[dict[str, Any]]], str]
Party = Person | Company
Amount = Annotated[int, pydantic.Field(ge=1, le=100)]


def what_a_contract_is_made_of(kind: type[Person], schema: dict[str, Any], unknown: Any, path: str) -> None:
    reveal_type(Contract(Person))  # is: Contract[Person]
    reveal_type(Contract(kind))  # is: Contract[Person]
    reveal_type(Contract(schema=Person, strict=True))  # is: Contract[Person]
    reveal_type(Contract(Point))  # is: Contract[Point]
    reveal_type(Contract(Row))  # is: Contract[Row]
    reveal_type(Contract(Guest))  # is: Contract[Guest]
    reveal_type(Contract(int))  # is: Contract[int]
    reveal_type(Contract(list[Person]))  # is: Contract[list[Person]]
    reveal_type(Contract(dict[str, Row]))  # is: Contract[dict[str, Row]]
    reveal_type(Contract(tuple[int, str]))  # is: Contract[tuple[int, str]]
    reveal_type(Contract(Person | Company))  # is: Contract[Person | Company]
    reveal_type(Contract(Union[Person, Company]))  # is: Contract[Person | Company]  # noqa: UP007 - as people write it
    reveal_type(Contract(Party))  # is: Contract[Person | Company]
    reveal_type(Contract(list[Person | Company]))  # is: Contract[list[Person | Company]]
    reveal_type(Contract(Optional[Person]))  # is: Contract[Person | None]  # noqa: UP045 - as people write it
    reveal_type(Contract(Person | None))  # is: Contract[Person | None]
    reveal_type(Contract(Literal["yes", "no"]))  # is: Contract[Literal['yes', 'no']]
    reveal_type(Contract(Amount))  # is: Contract[int]
    reveal_type(Contract(Annotated[str, pydantic.StringConstraints(min_length=1)]))  # is: Contract[str]
    reveal_type(Contract(list[Annotated[int, pydantic.Field(ge=1)]]))  # is: Contract[list[int]]
    reveal_type(Contract[Person | Company](Person | Company))  # is: Contract[Person | Company]
    reveal_type(Contract({"type": "object"}))  # is: Contract[Any]
    reveal_type(Contract(schema))  # is: Contract[Any]
    reveal_type(Contract(path))  # is: Contract[Any]
    reveal_type(Contract(True))  # is: Contract[Any]
    reveal_type(Contract(unknown))  # is: Contract[Any]
    reveal_type(Contract())  # is: Contract[Any]
    reveal_type(Contract.load(path, accept="lossless"))  # is: Contract[Any]
    reveal_type(Contract.envelope(tools=[print], strict=True))  # is: Contract[Any]


def judge(reply: str) -> int:
    contract = Contract(Person)
    verdict = contract.check(reply)
    reveal_type(verdict)  # is: Verdict[Person]
    reveal_type(verdict.value)  # is: Person | None
    reveal_type(verdict.unwrap())  # is: Person
    reveal_type(contract.check_value({}))  # is: Verdict[Person]
    reveal_type(contract.stream().finish())  # is: Verdict[Person]
    reveal_type([part for part in contract.stream([reply])])  # is: list[Partial[Person]]  # noqa: C416 - to see one
    reveal_type(Contract(list[Person]).items([reply]))  # is: Items[Person]
    print(verdict.value.age)  # error: union-attr; reportOptionalMemberAccess
    if verdict.value is not None:
        return verdict.value.age
    if not verdict:
        print(verdict.data, verdict.hint)
    try:
        return verdict.unwrap().age
    except Rejected as rejected:
        reveal_type(rejected.verdict)  # is: Verdict[Any]
    return 0


def misspell(person: Verdict[Person]) -> None:
    person.unwrap().agee = 36  # error: attr-defined; reportAttributeAccessIssue


def judge_either(reply: str) -> str:
    party = Contract(Person | Company).check(reply).unwrap()
    reveal_type(party)  # is: Person | Company
    return party.name if isinstance(party, Person) else party.title


def judge_rows(reply: str) -> list[str]:
    rows = Contract(list[Row]).check(reply).value
    reveal_type(rows)  # is: list[Row] | None
    for row in rows:  # error: union-attr; reportOptionalIterable
        print(row["name"])
    return [row["nmae"] for row in rows or []]  # error: typeddict-item; reportGeneralTypeIssues


def ask(model: Model) -> int:
    answer = Contract(Person).ask(model, "Who wrote the first program?", Policy(repairs=1), context={"state": "IDLE"})
    reveal_type(answer)  # is: Answer[Person]
    reveal_type(answer.value)  # is: Person | None
    reveal_type(answer.data)  # is: Any
    reveal_type(answer.calls)  # is: tuple[ToolCall, ...]
    print(answer.value.age)  # error: union-attr; reportOptionalMemberAccess
    with Contract(Person).ask_stream(model, "Who?", hold="all") as parts:
        for part in parts:
            print(part.text)
    reveal_type(parts.answer)  # is: Answer[Person]
    watched = observed(Contract(Person), print)
    reveal_type(watched.check("{}"))  # is: Verdict[Person]
    reveal_type(watched.stream().finish())  # is: Verdict[Person]
    reveal_type(watched.ask(model, "Who?"))  # is: Answer[Person]
    reveal_type(Conversation(Contract(Person), model).ask("Who?").value)  # is: Person | None
    return answer.unwrap().age


async def ask_later(model: Model) -> Person:
    answer = await Contract(Person).aask(model, [{"role": "user", "content": "Who?"}], wait=asyncio.sleep)
    reveal_type(answer)  # is: Answer[Person]
    asked = Contract(Person).aask_stream(
        model, "Who?", Policy(tokens=900, tokenizer=len), on_request=lambda request: None, cache=MemoryCache()
    )
    async for part in asked:
        print(part.text)
    return asked.answer.unwrap()


@dataclasses.dataclass
class Shop:
    prices: dict[str, int]


def price(ctx: Context[Shop], item: str) -> int:
    reveal_type(ctx.deps)  # is: Shop
    reveal_type(ctx.call)  # is: ToolCall
    return ctx.deps.prices[item]


def veto(call: ToolCall) -> str | None:
    return "not now" if call.name == "price" else None


def run(model: Model) -> Person:
    contract = Contract(Person, tools=[price])
    ran = contract.run(model, "Who?", Policy(), deps=Shop({}), turns=3, on_call=veto, errors="text")
    reveal_type(ran)  # is: Run[Person]
    reveal_type(ran.value)  # is: Person | None
    reveal_type(ran.calls[0].status)  # is: Literal['done', 'failed', 'refused', 'vetoed', 'skipped', 'stopped']
    with contract.run_stream(model, "Who?", tools=[judge], hold="all") as parts:
        for part in parts:
            reveal_type(part)  # is: RunPart
        reveal_type(parts.run)  # is: Run[Person]
    reveal_type(observed(contract, print).run(model, "Who?"))  # is: Run[Person]
    reveal_type(contract.with_tools([judge]))  # is: Contract[Person]
    return ran.unwrap()


async def run_later(model: Model) -> Person:
    ran = await Contract(Person).arun(model, "Who?", parallel=4, tools={"price": price}, deps=Shop({}), on_call=veto)
    reveal_type(ran)  # is: Run[Person]
    async with Contract(Person).arun_stream(model, "Who?") as parts:
        async for part in parts:
            print(part.text)
    return parts.run.unwrap()


def options_that_exist(model: Model, table: dict[str, Any]) -> None:
    Contract(Person, tools=[judge], calls={"required": True}, order=["judge"], rules=["age > 0"], accept="lossy")
    Contract(Person, tools={"judge": judge}, calls=table, rules=table, reply=table, states=table, checks=[print])
    Contract(tools=[{"type": "function", "function": {"name": "ping"}}], reply=True, fallbacks={"default": "Hello."})
    Policy(models=("small", "large"), prices={"*": Price(1.0, 2.0)}, money=0.5, redaction={"fields": ["email"]})
    Contract(Person).ask([model].pop(), ("user", "Who?"), on_event=print)


def strict_contract(schema: type[Person], **options: Unpack[ContractOptions]) -> Contract[Person]:
    options.setdefault("strict", True)
    return Contract(schema, **options)


def options_that_do_not_exist(model: Model) -> None:
    Contract(Person, acept="lossy")  # error: call-overload; reportCallIssue
    Contract(Person, accept="lossyy")  # error: call-overload; reportCallIssue, reportArgumentType
    Contract(Person, strict="yes")  # error: call-overload; reportCallIssue, reportArgumentType
    Contract(Person, rules=5)  # error: call-overload; reportCallIssue, reportArgumentType
    Contract.load("contract.yaml", acept="lossy")  # error: call-arg; reportCallIssue
    Contract(Person).ask(model, "Who?", polcy=Policy())  # error: call-arg; reportCallIssue
    Contract(Person).ask(model, "Who?", {"repairs": 1})  # error: arg-type; reportArgumentType
    Contract(Person).ask(model, "Who?", context=5)  # error: arg-type; reportArgumentType
    Contract(Person).ask_stream(model, "Who?", hold="none")  # error: arg-type; reportArgumentType
    Contract(Person).run(model, "Who?", turn=3)  # error: call-arg; reportCallIssue
    Contract(Person).run(model, "Who?", turns="3")  # error: arg-type; reportArgumentType
    Contract(Person).run(model, "Who?", parallel=3)  # error: call-arg; reportCallIssue
    Policy(atempts=3)  # error: call-arg; reportCallIssue
    Policy(repairs="two")  # error: arg-type; reportArgumentType
    observed(Contract(Person), on_event=print)  # error: call-arg; reportCallIssue
    observed(Contract(Person), print).ask(model, "Who?", on_evnt=print)  # error: call-arg; reportCallIssue


def show(verdict: Verdict[Person], answer: Answer[Person]) -> str:
    return f"{verdict.value} {answer.value}"
