"""Shows the gateway in one command: the local model and a careless one as upstreams, a few requests, and lines to copy.

Nothing leaves this machine. Verdicts go to a temporary store that is removed at the end. Needs the extras `gateway` and
`local`.
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from trueup.ask.policy import Policy
from trueup.contract.contract import Contract
from trueup.gateway.config import Config, Route, Upstream
from trueup.gateway.demo_model import NAME, careless
from trueup.gateway.running import Running, running
from trueup.store.open import open_store
from trueup.store.stats import ModelRates

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 60},
        "age": {"type": "integer", "minimum": 0, "maximum": 125},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
POLITE = {"ASKING": {
    "forbid": [{"terms": ["sorry", "cannot", "language model", "AI"], "why": "talks about itself"}],
    "hint": "Answer in one short friendly sentence. Do not talk about yourself.",
    "fallback": "Hello! Which service would you like to book?",
}}  # fmt: skip
# A check that a schema cannot express: the answer must be in the text of the question.
FROM_TEXT = [
    {"name": "name_from_text", "expr": "name.lower() in text.lower()", "error": "{name} is not in the text"},
    {"name": "age_from_text", "expr": "str(age) in text", "error": "the text does not say {age}"},
]
Say = Callable[[str], object]


def demo(say: Say, wait: Callable[[], object], port: int = 8080) -> list[ModelRates]:
    """Run the demonstration, then wait while the user tries it by hand; print the rates of the requests."""
    from trueup.ask.clients.local import LocalModel

    say("loading the local model …")
    with (
        LocalModel() as model,
        tempfile.TemporaryDirectory(prefix="trueup-demo-") as folder,
        open_store(Path(folder) / "verdicts.db") as store,
        careless() as mistaken,
        running(_config(model, mistaken), store, port=port) as gateway,
    ):
        say(f"listening on {gateway.url}\n")
        _play(gateway, model.name, say)
        store.flush()
        rates = store.stats()
        for rate in rates:
            failed, again = f"{rate.failure_rate:.0%} failed", f"{rate.retry_rate:.0%} asked again"
            say(f"stored: {rate.asked} requests of {rate.model}, {failed}, {again}")
        _lines(gateway, model.name, say)
        wait()
    return rates


def _config(model: Any, mistaken: str) -> Config:
    person = Contract(PERSON, name="person")
    true_person = Contract(PERSON, rules=FROM_TEXT, input=["text"], name="true-person")
    polite = Contract(states=POLITE, reply=True, name="polite")
    policy = Policy(otherwise="failed", repairs=2, max_tokens=120, deadline=60, backoff=0.2)
    return Config(
        upstreams={
            "local": Upstream("local", model.url, key=model.api_key, private=True),
            NAME: Upstream(NAME, mistaken, private=True),
        },
        contracts={"person": person, "true-person": true_person, "polite": polite},
        routes=(
            Route("person", ("person",), person, policy=policy),
            Route("true-person", ("true-person",), true_person, policy=policy),
            Route(NAME, (NAME,), person, upstream=NAME, policy=policy),
            Route("polite", ("polite",), polite, policy=policy, state="ASKING"),
        ),
    )


def _play(gateway: Running, model: str, say: Say) -> None:
    """Send a few requests and show the result of each."""
    asked = [
        ("no contract: bytes pass unchanged", model, "Say hello in three words."),
        (
            "a contract by model: an object with a name and an age",
            "person",
            "Ada Lovelace was 36 years old. Who is this?",
        ),
        ("with rules: both must be in the text", "true-person", "Ada Lovelace was 36 years old. Who is this?"),
        ("a stream, released field by field", "person", "Grace Hopper was 85 years old. Who is this?"),
        ("a contract for a state of a conversation", "polite", "Greet a customer of a hair salon."),
        ("a model that forgets the age: asked again, then fixed", NAME, "Bob is 5. Who is this?"),
    ]
    for at, (what, name, question) in enumerate(asked):
        status, headers, text = _ask(gateway.url, name, question, stream=at == 3)
        facts = ", ".join(
            f"{key} {headers[f'x-trueup-{key}']}"
            for key in ("outcome", "attempts", "overhead-ms")
            if f"x-trueup-{key}" in headers
        )
        say(f"{at + 1}. {what}\n   {status} {facts}\n   {text}\n")


def _ask(url: str, model: str, question: str, *, stream: bool) -> tuple[int, dict[str, str], str]:
    from http.client import HTTPConnection
    from urllib.parse import urlsplit

    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": "user", "content": question}],
        "max_tokens": 60,
        "temperature": 0,
        "stream": stream,
    }
    body["trueup"] = {"input": {"text": question}}
    place = urlsplit(url)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=120)
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
        response = connection.getresponse()
        raw = response.read()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return response.status, headers, _text(raw, stream=stream)
    finally:
        connection.close()


def _text(raw: bytes, *, stream: bool) -> str:
    if stream:
        chunks = [msgspec.json.decode(line[6:]) for line in raw.splitlines() if line.startswith(b"data: {")]
        deltas = [chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk.get("choices")]
        return " | ".join(delta for delta in deltas if delta)
    found = msgspec.json.decode(raw)
    if "error" in found:
        return str(found["error"]["message"])
    return " ".join(str(found["choices"][0]["message"]["content"]).split())


def _lines(gateway: Running, model: str, say: Say) -> None:
    asked = '[{"role": "user", "content": "Grace Hopper was 85 years old. Who is this?"}]'
    body = f'{{"model": "{NAME}", "messages": {asked}}}'
    say(f"""
Try it. This model leaves out the age; the gateway asks again, repairs the reply and lists each fix:
  curl -si {gateway.url}/v1/chat/completions -H 'x-trueup-include: 1' -d '{body}'
The local model, from Python:
  python -c 'from openai import OpenAI; print(OpenAI(base_url="{gateway.url}/v1", api_key="any").chat.completions.create(
      model="person", messages={asked}).choices[0].message.content)'
Counters and a page about the gateway:
  curl -s {gateway.url}/metrics
  {gateway.url}/
Models: {model} (no contract), person, true-person, polite, {NAME} (makes mistakes on purpose). Ctrl-C stops it.""")
