"""The tasks of the study of asking: seven schemas and three pairs of tools, as pydantic models, and the prompts for them."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field

DATA = Path(__file__).parent / "data"
Clock = Annotated[str, Field(pattern="^[0-9]{2}:[0-9]{2}$", description="HH:MM")]
Currency = Literal["EUR", "USD", "GBP"]


class Person(BaseModel):
    name: str
    age: int = Field(ge=0, le=130)


class Order(BaseModel):
    product: str
    quantity: int = Field(ge=1)
    price: float = Field(gt=0, description="of one piece")


class Opinion(BaseModel):
    label: Literal["positive", "negative", "neutral"]
    reason: str


class Visit(BaseModel):
    name: str
    date: str = Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$", description="YYYY-MM-DD")
    time: Clock


class Contact(BaseModel):
    name: str
    email: str = Field(pattern=r"^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+\.[a-z]+$")
    phone: str | None = None


class Recipe(BaseModel):
    title: str
    ingredients: list[str] = Field(min_length=2)
    minutes: int = Field(ge=1)


class Ticket(BaseModel):
    category: Literal["billing", "technical", "account", "other"]
    urgent: bool
    summary: str = Field(max_length=120)


class GetWeather(BaseModel):
    """Tell the weather in a city."""

    city: str


class BookTable(BaseModel):
    """Book a table in the restaurant."""

    people: int = Field(ge=1, le=20)
    time: Clock


class Convert(BaseModel):
    """Convert an amount of money."""

    amount: float = Field(gt=0)
    source: Currency
    target: Currency


class SetAlarm(BaseModel):
    """Set an alarm."""

    hour: int = Field(ge=0, le=23)
    minute: int = Field(ge=0, le=59)


class AddTask(BaseModel):
    """Add a task to the list."""

    title: str
    priority: Literal["low", "normal", "high"]


class Search(BaseModel):
    """Search the web."""

    query: str


SCHEMAS: dict[str, type[BaseModel]] = {
    "person": Person,
    "order": Order,
    "opinion": Opinion,
    "visit": Visit,
    "contact": Contact,
    "recipe": Recipe,
    "ticket": Ticket,
}
TOOLS: dict[str, dict[str, type[BaseModel]]] = {
    "weather_or_table": {"get_weather": GetWeather, "book_table": BookTable},
    "money_or_alarm": {"convert": Convert, "set_alarm": SetAlarm},
    "task_or_search": {"add_task": AddTask, "search": Search},
}


class Example(NamedTuple):
    """A prompt with its right reply, shown to the model before the task."""

    task: str
    lang: str
    prompt: str
    reply: dict[str, Any]


class Task(NamedTuple):
    """One prompt, the values of a right reply, and a worked example of its kind."""

    id: str
    task: str
    lang: str
    prompt: str
    expect: dict[str, Any]
    example: Example

    @property
    def calls(self) -> bool:
        return self.task in TOOLS


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def tasks() -> list[Task]:
    """All prompts, in an order that mixes tasks and languages evenly."""
    examples = {(row["task"], row["lang"]): Example(**row) for row in _rows("asking_examples.jsonl")}
    rows = [Task(**row, example=examples[row["task"], row["lang"]]) for row in _rows("asking.jsonl")]
    return sorted(rows, key=lambda row: (row.id.rpartition("-")[2], row.lang, row.task))


def messages(task: Task, *, shown: bool = True) -> list[dict[str, Any]]:
    """The conversation to send: the example, unless it is left out, and the prompt."""
    asked = {"role": "user", "content": task.prompt}
    if not shown:
        return [asked]
    example = task.example
    before: list[dict[str, Any]] = [{"role": "user", "content": example.prompt}]
    if not task.calls:
        before.append({"role": "assistant", "content": json.dumps(example.reply, ensure_ascii=False)})
        return [*before, asked]
    arguments = json.dumps(example.reply["arguments"], ensure_ascii=False)
    call = {"id": "call_1", "type": "function", "function": {"name": example.reply["name"], "arguments": arguments}}
    before.append({"role": "assistant", "content": None, "tool_calls": [call]})
    before.append({"role": "tool", "tool_call_id": "call_1", "content": "done"})
    before.append({"role": "assistant", "content": "Done."})
    return [*before, asked]


def openai_tools(name: str) -> list[dict[str, Any]]:
    """The tools of a task in OpenAI's words."""
    return [
        {
            "type": "function",
            "function": {"name": tool, "description": model.__doc__, "parameters": _slim(model.model_json_schema())},
        }
        for tool, model in TOOLS[name].items()
    ]


def _slim(schema: dict[str, Any]) -> dict[str, Any]:
    """Without titles and the sentence that the tool has already."""
    properties = {key: {k: v for k, v in value.items() if k != "title"} for key, value in schema["properties"].items()}
    return {"type": "object", "properties": properties, "required": schema["required"]}


def is_right(expect: dict[str, Any], found: Any) -> bool:
    """Whether every expected value is there; texts are compared without regard to case."""
    if not isinstance(found, dict):
        return False
    return all(has_same(value, found.get(key)) for key, value in expect.items())


def has_same(expected: Any, found: Any) -> bool:
    """Whether two values are the same to a reader."""
    if isinstance(expected, str) and isinstance(found, str):
        return expected.casefold() == found.strip(" .").casefold()
    if isinstance(expected, dict):
        return is_right(expected, found)
    return bool(expected == found)
