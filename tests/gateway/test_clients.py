"""Real clients through the gateway, unchanged but for their address: chats, streams, tool calls and refusals."""

import asyncio
import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.conftest import KEY, PERSON, QUICK
from trueup import Contract
from trueup.gateway.config import Config, Route, Upstream
from trueup.gateway.running import running
from trueup.testing.script import Call, Say
from trueup.testing.server import ScriptedServer

pytestmark = pytest.mark.spec("A13")

MENDED = '```json\n{"name": "Ada", "age": "36",}\n```'
ADA = {"name": "Ada", "age": 36}
BOOK = {"type": "object", "properties": {"day": {"type": "integer"}}, "required": ["day"]}
OPENAI_TOOLS: Any = [{"type": "function", "function": {"name": "book", "description": "Book.", "parameters": BOOK}}]
MESSAGES: Any = [{"role": "user", "content": "Who?"}]
NODE = Path(__file__).parent / "node"
STEPS: dict[str, Any] = {"m": MENDED, "tools": Say(None, (Call("book", {"day": "3"}),)), "bad": "I had rather not say."}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a gateway whose upstream gives broken JSON, loose calls or prose, by model."""
    with ScriptedServer(lambda request: STEPS[request.model]) as upstream:
        offered = Contract(tools=[{"name": "book", "parameters": BOOK}], name="book")
        config = Config(
            upstreams={
                "chat": Upstream("chat", upstream.url, "openai", key=KEY, private=True),
                "messages": Upstream("messages", upstream.url, "anthropic", key=KEY, private=True),
            },
            routes=(
                Route("tools", ("tools",), offered, policy=QUICK),
                Route("person", ("*",), Contract(PERSON, name="person"), policy=QUICK),
            ),
        )
        with running(config) as served:
            yield served.url


def test_openai(url: str) -> None:
    from openai import OpenAI, UnprocessableEntityError

    client = OpenAI(base_url=url + "/v1", api_key="unused", max_retries=0)
    chat = client.chat.completions.create(model="m", messages=MESSAGES)
    assert json.loads(chat.choices[0].message.content or "") == ADA
    chunks = list(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))
    assert json.loads("".join(c.choices[0].delta.content or "" for c in chunks if c.choices)) == ADA
    called = client.chat.completions.create(model="tools", messages=MESSAGES, tools=OPENAI_TOOLS)
    function = called.choices[0].message.tool_calls[0].function  # type: ignore[index, union-attr]
    assert (function.name, json.loads(function.arguments)) == ("book", {"day": 3})
    parts = list(client.chat.completions.create(model="tools", messages=MESSAGES, tools=OPENAI_TOOLS, stream=True))
    pieces = [d.function.arguments or "" for c in parts if c.choices for d in c.choices[0].delta.tool_calls or ()]  # type: ignore[union-attr]
    assert json.loads("".join(pieces)) == {"day": 3}
    with pytest.raises(UnprocessableEntityError) as refused:
        client.chat.completions.create(model="bad", messages=MESSAGES)
    assert refused.value.code == "contract_violation"
    response = client.responses.create(model="m", input="Who?")
    assert json.loads(response.output_text) == ADA
    client.close()


def test_openai_async(url: str) -> None:
    from openai import AsyncOpenAI

    async def main() -> None:
        async with AsyncOpenAI(base_url=url + "/v1", api_key="unused", max_retries=0) as client:
            asked = [client.chat.completions.create(model="m", messages=MESSAGES) for _ in range(8)]
            for chat in await asyncio.gather(*asked):
                assert json.loads(chat.choices[0].message.content or "") == ADA
            stream = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
            pieces = [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]
            assert json.loads("".join(pieces)) == ADA

    asyncio.run(main())


def test_anthropic(url: str) -> None:
    from anthropic import Anthropic, UnprocessableEntityError

    client = Anthropic(base_url=url, api_key="unused", max_retries=0)
    message = client.messages.create(model="m", max_tokens=100, messages=MESSAGES)
    assert json.loads(message.content[0].text) == ADA  # type: ignore[union-attr]
    with client.messages.stream(model="m", max_tokens=100, messages=MESSAGES) as stream:
        assert json.loads("".join(stream.text_stream)) == ADA
        assert stream.get_final_message().stop_reason == "end_turn"
    tools: Any = [{"name": "book", "description": "Book.", "input_schema": BOOK}]
    called = client.messages.create(model="tools", max_tokens=100, messages=MESSAGES, tools=tools)
    block = next(block for block in called.content if block.type == "tool_use")
    assert (block.name, block.input) == ("book", {"day": 3})
    with client.messages.stream(model="tools", max_tokens=100, messages=MESSAGES, tools=tools) as stream:
        final = stream.get_final_message()
    assert next(block.input for block in final.content if block.type == "tool_use") == {"day": 3}
    with pytest.raises(UnprocessableEntityError):
        client.messages.create(model="bad", max_tokens=100, messages=MESSAGES)
    client.close()


@pytest.mark.filterwarnings("ignore")  # LiteLLM's own models warn, depending on what was imported before it
def test_litellm(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    how: Any = {"messages": MESSAGES, "api_base": url + "/v1", "api_key": "unused", "num_retries": 0}
    chat: Any = litellm.completion(model="openai/m", **how)
    assert json.loads(chat.choices[0].message.content) == ADA
    stream: Any = litellm.completion(model="openai/m", stream=True, **how)
    assert json.loads("".join(chunk.choices[0].delta.content or "" for chunk in stream)) == ADA
    called: Any = litellm.completion(model="openai/tools", tools=OPENAI_TOOLS, **how)
    assert json.loads(called.choices[0].message.tool_calls[0].function.arguments) == {"day": 3}
    with pytest.raises(litellm.exceptions.BadRequestError, match="P001"):
        litellm.completion(model="openai/bad", **how)


def test_langchain(url: str) -> None:
    from langchain_anthropic import ChatAnthropic
    from langchain_openai import ChatOpenAI

    unused: Any = "unused"
    openai = ChatOpenAI(model="m", base_url=url + "/v1", api_key=unused, max_retries=0)
    anthropic = ChatAnthropic(model_name="m", base_url=url, api_key=unused, max_retries=0, timeout=60, stop=None)
    for model in (openai, anthropic):
        assert json.loads(str(model.invoke("Who?").text)) == ADA
        assert json.loads("".join(str(piece.text) for piece in model.stream("Who?"))) == ADA
    with_tools: Any = {"name": "book", "description": "Book.", "parameters": BOOK}
    tooled = ChatOpenAI(model="tools", base_url=url + "/v1", api_key=unused, max_retries=0).bind_tools([with_tools])
    assert [(call["name"], call["args"]) for call in tooled.invoke("Book.").tool_calls] == [("book", {"day": 3})]


@pytest.fixture(scope="session")
def node_modules(root: Path) -> Path:
    """The JavaScript clients, installed once as the lock says; another process of the tests may be about it too."""
    folder = root / ".cache" / "node"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "installing").open("w") as taken:
        fcntl.flock(taken, fcntl.LOCK_EX)
        install(folder)
    return folder


def install(folder: Path) -> None:
    lock = (NODE / "package-lock.json").read_bytes()
    if not (folder / "node_modules").is_dir() or (folder / "package-lock.json").read_bytes() != lock:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(NODE / name, folder / name)
        done = subprocess.run(
            ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder, capture_output=True, text=True,
            check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    for script in NODE.glob("*.mjs"):
        new = folder / f"{script.name}.new"
        shutil.copy(script, new)
        new.replace(folder / script.name)  # a process that is reading the old one reads all of it


def run_node(folder: Path, script: str, url: str) -> Any:
    quiet = {**os.environ, "AI_SDK_LOG_WARNINGS": "false"}
    done = subprocess.run(
        ["node", script, url], cwd=folder, capture_output=True, text=True, check=False, timeout=120, env=quiet
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.needs("node")
@pytest.mark.timeout(400)
def test_openai_in_javascript(node_modules: Path, url: str) -> None:
    got = run_node(node_modules, "openai.mjs", url)
    assert json.loads(got["chat"]) == ADA
    assert json.loads(got["stream"]) == ADA
    assert json.loads(got["call"]["arguments"]) == {"day": 3}
    assert (got["refused"]["status"], got["refused"]["code"]) == (422, "contract_violation")


@pytest.mark.needs("node")
@pytest.mark.timeout(400)
def test_the_ai_sdk(node_modules: Path, url: str) -> None:
    got = run_node(node_modules, "ai.mjs", url)
    assert json.loads(got["text"]) == ADA
    assert json.loads(got["stream"]) == ADA
    assert got["object"] == ADA
    assert got["days"] == [3]
