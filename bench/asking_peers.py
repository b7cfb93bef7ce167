"""How the peers are asked: instructor and pydantic-ai, each with the schema in words, and with the schema enforced if the server supports it.

An arm takes a task and returns (value, why not); it may ask three times in all.
"""

import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Union

import instructor
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from tenacity import Retrying, stop_after_attempt

from asking_tasks import SCHEMAS, TOOLS, Task, messages

NAME = "smollm2-135m"
Made = tuple[Any, str]


def versions() -> dict[str, str]:
    return {name: version(name) for name in ("trueup", "instructor", "pydantic-ai-slim", "openai", "xllamacpp")}


def _call_of(task: Task, made: BaseModel) -> dict[str, Any]:
    name = next(name for name, model in TOOLS[task.task].items() if isinstance(made, model))
    return {"name": name, "arguments": made.model_dump()}


def instructor_arm(url: str, settings: dict[str, Any], *, held: bool = False) -> Callable[[Task], Made]:
    plain = OpenAI(base_url=url, api_key="none", max_retries=0)
    client = instructor.from_openai(plain, mode=instructor.Mode.JSON_SCHEMA if held else instructor.Mode.MD_JSON)
    calling = instructor.from_openai(plain, mode=instructor.Mode.TOOLS)

    def run(task: Task) -> Made:
        wanted: Any = SCHEMAS.get(task.task)
        if task.calls:
            first, second = TOOLS[task.task].values()
            wanted = Union[first, second]  # noqa: UP007 - the form that instructor knows
        try:
            made = (calling if task.calls else client).chat.completions.create(
                model=NAME,
                messages=_in_one_tool(messages(task)) if task.calls else messages(task),
                response_model=wanted,
                max_retries=Retrying(stop=stop_after_attempt(3), reraise=True),
                **settings,
            )
        except Exception as error:
            return None, type(error).__name__
        return (_call_of(task, made) if task.calls else made.model_dump()), ""

    return run


def _in_one_tool(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The worked example as instructor calls it: one tool, `Response`, with the choice inside."""
    call = given[1]["tool_calls"][0]
    inside = json.dumps({"content": json.loads(call["function"]["arguments"])}, ensure_ascii=False)
    made = {**call, "function": {"name": "Response", "arguments": inside}}
    return [given[0], {**given[1], "content": "", "tool_calls": [made]}, *given[2:]]


def pydantic_ai_arm(url: str, settings: dict[str, Any], *, held: bool = False) -> Callable[[Task], Made]:
    profile = OpenAIModelProfile(supports_json_object_output=False, supports_json_schema_output=held)
    provider = OpenAIProvider(openai_client=AsyncOpenAI(base_url=url, api_key="none", max_retries=0))
    model = OpenAIChatModel(NAME, provider=provider, profile=profile)

    def run(task: Task) -> Made:
        wanted: Any
        if task.calls:
            wanted = [ToolOutput(kind, name=name, description=kind.__doc__) for name, kind in TOOLS[task.task].items()]
        else:
            wanted = (NativeOutput if held else PromptedOutput)(SCHEMAS[task.task])
        agent = Agent(model, output_type=wanted, retries=2, model_settings=settings)
        try:
            made: Any = agent.run_sync(task.prompt, message_history=_history(task)).output
        except AgentRunError as error:
            return None, type(error).__name__
        return (_call_of(task, made) if task.calls else made.model_dump()), ""

    return run


def _history(task: Task) -> list[Any]:
    """The worked example in pydantic-ai's words."""
    example = task.example
    asked = ModelRequest(parts=[UserPromptPart(example.prompt)])
    if not task.calls:
        return [asked, ModelResponse(parts=[TextPart(json.dumps(example.reply, ensure_ascii=False))])]
    call = ToolCallPart(example.reply["name"], example.reply["arguments"], tool_call_id="call_1")
    done = ToolReturnPart(example.reply["name"], "done", tool_call_id="call_1")
    return [asked, ModelResponse(parts=[call]), ModelRequest(parts=[done]), ModelResponse(parts=[TextPart("Done.")])]


def arms(url: str, settings: dict[str, Any]) -> dict[str, Callable[[Task], Made]]:
    return {
        "instructor": instructor_arm(url, settings),
        "pydantic-ai": pydantic_ai_arm(url, settings),
        "instructor held": instructor_arm(url, settings, held=True),
        "pydantic-ai held": pydantic_ai_arm(url, settings, held=True),
    }
