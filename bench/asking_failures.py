"""`make study`, second part: twenty typical failures of a model server, and what each library spends to get a valid value.

python bench/asking_failures.py [--markdown PAGE]

Every library asks the same scripted server for the same order, each in its own words, in the mode that sends the schema as
`response_format`, and may ask three times for a valid value; retries after failures of the transport are its own. In the first round the
model does better when it is asked again; in the second it gives the same reply for ever. Calls and tokens are counted by the server.
"""

import argparse
import logging
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import instructor
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from tenacity import Retrying, stop_after_attempt

import asking_report
from asking_cases import CASES, MODEL, PROMPT, Order, Server, is_valid
from trueup import Contract, Policy
from trueup.testing.server import ScriptedServer

MARKS = ("<!-- failures -->", "<!-- end of failures -->")


class Outcome(NamedTuple):
    """A library's outcome for a case."""

    valid: bool
    calls: int
    tokens: int


Messages = list[dict[str, Any]]
Run = Callable[[type[BaseModel], Messages], Any]  # asks for a value under a schema


def trueup_arm(url: str) -> Run:
    client = OpenAI(base_url=url, api_key="none")
    policy = Policy(models=(MODEL,), backoff=0.01)
    return lambda schema, messages: Contract(schema).ask(client, messages, policy).value


def instructor_arm(url: str) -> Run:
    client = instructor.from_openai(OpenAI(base_url=url, api_key="none"), mode=instructor.Mode.JSON_SCHEMA)

    def run(schema: type[BaseModel], messages: Messages) -> Any:
        given: Any = messages
        return client.chat.completions.create(
            model=MODEL, messages=given, response_model=schema,
            max_retries=Retrying(stop=stop_after_attempt(3), reraise=True),
        )  # fmt: skip

    return run


def pydantic_ai_arm(url: str) -> Run:
    provider = OpenAIProvider(openai_client=AsyncOpenAI(base_url=url, api_key="none"))
    model = OpenAIChatModel(MODEL, provider=provider, profile=OpenAIModelProfile(supports_json_schema_output=True))

    def run(schema: type[BaseModel], messages: Messages) -> Any:
        *before, last = messages
        history: list[Any] = [
            ModelRequest(parts=[UserPromptPart(one["content"])])
            if one["role"] == "user"
            else ModelResponse(parts=[TextPart(one["content"])])
            for one in before
        ]
        agent = Agent(model, output_type=NativeOutput(schema), retries=2)
        return agent.run_sync(last["content"], message_history=history).output

    return run


def langchain_arm(url: str) -> Run:
    model = ChatOpenAI(model=MODEL, base_url=url, api_key="none")  # type: ignore[arg-type]  # a plain text will do

    def run(schema: type[BaseModel], messages: Messages) -> Any:
        runnable = model.with_structured_output(schema, method="json_schema").with_retry(
            stop_after_attempt=3, wait_exponential_jitter=False
        )
        given: Any = messages
        return runnable.invoke(given)

    return run


ARMS: dict[str, Callable[[str], Run]] = {
    "trueup": trueup_arm,
    "pydantic-ai": pydantic_ai_arm,
    "instructor": instructor_arm,
    "LangChain": langchain_arm,
}
PACKAGES = ("trueup", "pydantic-ai-slim", "instructor", "langchain-openai", "openai")


def measure() -> dict[str, dict[str, list[Outcome]]]:
    """Every library on every case, for a model that improves and for one that does not."""
    server = Server()
    found: dict[str, dict[str, list[Outcome]]] = {}
    with ScriptedServer(server.answer) as scripted:
        for name, arm in ARMS.items():
            run = arm(scripted.url)
            found[name] = {"improves": [], "never improves": []}
            for way, outcomes in found[name].items():
                for case in CASES:
                    server.begin(case, stubborn=way == "never improves")
                    outcomes.append(Outcome(_is_valid(run), server.calls, server.tokens))
    return found


def _is_valid(run: Run) -> bool:
    try:
        made = run(Order, [{"role": "user", "content": PROMPT}])
    except Exception:  # each library has its own way to say that it got no value
        return False
    return is_valid(made)


def tables(found: dict[str, dict[str, list[Outcome]]]) -> str:
    """The figures as Markdown."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    lines = [f"{len(CASES)} failures; {versions}.", ""]
    lines += ["|  | valid, the model improves | calls | tokens | valid, it never improves | calls | tokens |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for name, ways in found.items():
        cells = []
        for outcomes in ways.values():
            cells += [f"{sum(o.valid for o in outcomes)} of {len(outcomes)}", f"{sum(o.calls for o in outcomes)}"]
            cells += [f"{sum(o.tokens for o in outcomes):,}"]
        lines.append("| " + " | ".join([f"**{name}**" if name == "trueup" else name, *cells]) + " |")
    lines += ["", "Calls for each failure if the model improves; `–` means that no valid value came:", ""]
    lines += ["| failure | " + " | ".join(found) + " |", "|---" * (len(found) + 1) + "|"]
    for at, case in enumerate(CASES):
        each = [ways["improves"][at] for ways in found.values()]
        cells = [f"{one.calls}" if one.valid else f"– ({one.calls})" for one in each]
        lines.append("| " + " | ".join([case.name, *cells]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--markdown", type=Path, help="write the tables into this page, between its two marks")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)  # the peers' log lines about each failure are expected here
    text = tables(measure())
    if options.markdown:
        asking_report.put(options.markdown, text, MARKS)
    print(text)


if __name__ == "__main__":
    main()
