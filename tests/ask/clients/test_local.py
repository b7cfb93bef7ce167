"""The local model: in this process, over loopback with the real SDKs, and the messages if it cannot run."""

import asyncio
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest

from tests.waiting import wait_for
from trueup import Contract, Policy
from trueup.ask.clients import local, weights
from trueup.ask.clients.local import LocalError, LocalModel, shared
from trueup.verdict.extras import install

ENDLESS: Any = {  # a reply that ends only at its limit
    "messages": [{"role": "user", "content": "Tell a very long story."}], "max_tokens": 2000, "ignore_eos": True,
}  # fmt: skip
ASK: Any = [{"role": "user", "content": "Reply with a JSON object with keys name and age for Ana, 34 years old."}]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
TOOL: Any = {
    "type": "function",
    "function": {
        "name": "book_table",
        "description": "Book a table in a restaurant.",
        "parameters": {
            "type": "object",
            "properties": {"people": {"type": "integer"}, "time": {"type": "string"}},
            "required": ["people", "time"],
        },
    },
}
needs_model = pytest.mark.needs("model")


@pytest.fixture(scope="module")
def model() -> Iterator[LocalModel]:
    with LocalModel(threads=1) as running:
        yield running


@needs_model
def test_it_answers_and_the_contract_judges(model: LocalModel) -> None:
    reply = model.complete(messages=ASK, temperature=0, max_tokens=60)
    verdict = Contract(schema=SCHEMA).check(reply)
    assert verdict.unwrap() == {"name": "Ana", "age": 34}
    assert verdict.reply.model == "smollm2-135m"
    assert reply["usage"]["completion_tokens"] > 0


@needs_model
@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be put off here")
def test_ctrl_c_while_it_is_loaded_ends_the_program() -> None:
    """The library hangs if a signal arrives while it loads, so the signal is delayed."""
    program = """
import os, signal
import xllamacpp
signal.signal(signal.SIGINT, signal.default_int_handler)  # a program that was started in the background ignores it
from trueup.ask.clients.local import LocalModel
real = xllamacpp.Server
def interrupted(given):
    os.kill(os.getpid(), signal.SIGINT)
    made = real(given)
    print("loaded", flush=True)
    return made
xllamacpp.Server = interrupted
try:
    LocalModel(threads=1)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "loaded\ninterrupted\n"), done.stderr


@needs_model
def test_it_is_held_to_a_schema(model: LocalModel) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA}}
    poem: Any = [{"role": "user", "content": "Write a poem about the sea."}]
    reply = model.complete(messages=poem, temperature=0, max_tokens=200, response_format=form)
    assert set(Contract(schema=SCHEMA).check(reply).unwrap()) == {"name", "age"}


@needs_model
def test_it_calls_tools(model: LocalModel) -> None:
    asked: Any = [{"role": "user", "content": "Book a table for 4 at 20:30, please."}]
    reply = model.complete(messages=asked, tools=[TOOL], temperature=0, max_tokens=120)
    (call,) = Contract(tools=[TOOL]).check(reply).calls
    assert (call.name, call.args) == ("book_table", {"people": 4, "time": "20:30"})
    told = [*asked, reply["choices"][0]["message"]]
    told.append({"role": "tool", "tool_call_id": call.id, "content": "booked"})
    assert model.complete(messages=told, tools=[TOOL], max_tokens=10)["choices"][0]["message"]["role"] == "assistant"


@needs_model
def test_a_stream_is_the_same_reply_and_can_be_left(model: LocalModel) -> None:
    whole = model.complete(messages=ASK, temperature=0, max_tokens=60)["choices"][0]["message"]["content"]
    chunks = list(model.chunks(messages=ASK, temperature=0, max_tokens=60))
    assert "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks) == whole
    left = model.chunks(**ENDLESS)
    next(left)
    left.close()  # type: ignore[attr-defined]
    assert model.complete(messages=ASK, max_tokens=1)  # immediately: the long story is not finished first


@needs_model
def test_a_reply_has_a_limit_if_the_request_names_none(model: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "MAX_TOKENS", 12)
    endless = {name: value for name, value in ENDLESS.items() if name != "max_tokens"}
    assert model.complete(**endless)["usage"]["completion_tokens"] == 12
    assert model.complete(**endless, max_tokens=20)["usage"]["completion_tokens"] == 20
    with LocalModel(threads=1) as limited:  # also over loopback
        headers = {"authorization": f"Bearer {limited.api_key}"}
        said = httpx.post(limited.url + "/v1/chat/completions", json=endless, headers=headers, timeout=60)
        assert said.json()["usage"]["completion_tokens"] == 12


@needs_model
@pytest.mark.parametrize("prompt", ["Tell a very long story.", "word " * 3000])
@pytest.mark.parametrize("streams", [False, True])
def test_an_ask_that_is_cancelled_stops_the_model(model: LocalModel, prompt: str, streams: bool) -> None:
    """While the model writes, and while it reads a long prompt."""
    cancel = threading.Event()
    threading.Thread(target=lambda: (wait_for(lambda: local._working), cancel.set()), daemon=True).start()
    policy = Policy(max_tokens=2000, parameters={"ignore_eos": True})
    if streams:
        parts = Contract().ask_stream(model, prompt, policy, cancel=cancel)
        assert list(parts) == []
        answer: Any = parts.answer
    else:
        answer = Contract().ask(model, prompt, policy, cancel=cancel)
    assert answer.reason == "cancelled"
    assert model.complete(messages=ASK, max_tokens=1)  # soon: the long story is not finished first
    wait_for(lambda: not local._working)


@needs_model
def test_a_timeout_stops_the_model(model: LocalModel) -> None:
    with pytest.raises(TimeoutError, match=r"within 0\.2 s"):
        model.complete(**ENDLESS, timeout=0.2)
    wait_for(lambda: not local._working)


@needs_model
def test_it_answers_awaited(model: LocalModel) -> None:
    async def both() -> list[dict[str, Any]]:
        return await asyncio.gather(*(model.acomplete(messages=ASK, temperature=0, max_tokens=5) for _ in range(2)))

    assert len(asyncio.run(both())) == 2


@needs_model
def test_sdks_speak_to_it_over_loopback(model: LocalModel) -> None:
    with openai.OpenAI(base_url=model.url + "/v1", api_key=model.api_key) as client:
        assert [known.id for known in client.models.list()] == ["smollm2-135m"]
        said = client.chat.completions.create(model=model.name, messages=ASK, temperature=0, max_tokens=60)
        assert Contract(schema=SCHEMA).check(said).ok
        pieces = list(client.chat.completions.create(model=model.name, messages=ASK, max_tokens=5, stream=True))
        assert pieces[-1].choices[0].finish_reason == "length"
    with anthropic.Anthropic(base_url=model.url, api_key=model.api_key) as other:
        message = other.messages.create(model=model.name, messages=ASK, max_tokens=5)
        assert message.stop_reason == "max_tokens"


@needs_model
def test_requests_without_the_key_are_refused(model: LocalModel) -> None:
    assert model.url.startswith("http://127.0.0.1:")
    body = {"messages": ASK}
    assert httpx.post(model.url + "/v1/chat/completions", json=body).status_code == 401
    page = httpx.options(model.url + "/v1/chat/completions", headers={"Origin": "http://elsewhere.example"})
    assert page.headers.get("access-control-allow-origin") not in ("*", "http://elsewhere.example")
    assert httpx.get(model.url + "/").status_code in (401, 404)


@needs_model
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"messages": "hi"}, "messages"),
        ({"messages": [{"role": "user", "content": "x " * 9000}]}, "context"),
        (
            {"messages": ASK, "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "odd"}}}},
            "schema",
        ),
    ],
)
def test_what_it_cannot_do_is_an_error_with_a_status(model: LocalModel, body: dict[str, Any], words: str) -> None:
    with pytest.raises(LocalError, match=words) as caught:
        model.complete(**body)
    assert caught.value.status_code == 400
    with pytest.raises(LocalError, match=words):
        list(model.chunks(**body))


@needs_model
def test_closing_ends_its_threads_and_its_address() -> None:
    with LocalModel(threads=1) as running:
        running.complete(messages=ASK, max_tokens=1)
    workers = [thread for thread in threading.enumerate() if thread.name == "local-model"]
    for thread in workers:
        thread.join(30)  # it has answered, but on a busy machine it may still be ending
    assert not any(thread.is_alive() for thread in workers)
    with pytest.raises(httpx.ConnectError):
        httpx.get(running.url)
    with pytest.raises(LocalError, match="closed"):
        running.complete(messages=ASK)


@needs_model
def test_a_port_in_use_is_named(model: LocalModel) -> None:
    port = int(model.url.rpartition(":")[2])
    with pytest.raises(LocalError, match=f"port {port}"):
        LocalModel(port=port)


@needs_model
def test_one_model_is_shared_by_the_process() -> None:
    assert shared() is shared()


def test_a_missing_runner_or_missing_weights_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "find", lambda: None)
    monkeypatch.setattr(weights, "runner", lambda: "1")
    with pytest.raises(weights.NotInstalled, match="trueup local install"):
        LocalModel()
    monkeypatch.setattr(weights, "runner", lambda: None)
    with pytest.raises(weights.NotInstalled, match=re.escape(install("local"))):
        LocalModel()


def test_weights_that_are_not_there_are_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert weights.find() is None


@pytest.mark.parametrize(("content", "words"), [(None, "cannot be read"), (b"PK\x03\x04", "not a GGUF model")])
def test_a_file_that_is_not_a_model_is_refused(tmp_path: Path, content: bytes | None, words: str) -> None:
    file = tmp_path / "model.gguf"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ValueError, match=words):
        weights.locate(file)


@needs_model
def test_a_broken_model_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF" + b"\x00" * 100)
    with pytest.raises(LocalError, match=r"broken\.gguf: the model could not be loaded"):
        LocalModel(file)


def test_the_lock_and_the_command_install_the_same(root: Path) -> None:
    lock = (root / "requirements" / "local.lock").read_text("utf-8")
    assert " ".join(lock.partition("\n")[2].replace("\\", "").split()) == weights.requirement().strip()
    assert "://" not in lock


@needs_model
def test_the_installed_weights_are_the_ones_expected() -> None:
    found = weights.find()
    assert found is not None
    assert weights.verify(found)
