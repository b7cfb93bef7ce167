"""`trueup serve --demo`: the local model behind the gateway, and a careless one that shows a repair."""

import shlex

import httpx
import pytest

from trueup.gateway.demo import demo


def run(command: str) -> httpx.Response:
    """The answer that a line for curl would get; only the options of that line are supported."""
    words = shlex.split(command)
    assert words[:2] == ["curl", "-si"]
    options = dict(zip(words[3::2], words[4::2], strict=True))
    name, _, value = options.pop("-H").partition(": ")
    content = options.pop("-d").encode()
    assert not options
    headers = {name: value, "content-type": "application/x-www-form-urlencoded"}  # as curl sends it
    return httpx.post(words[2], content=content, headers=headers, timeout=120)


@pytest.mark.needs("model")
def test_the_demo_shows_each_outcome_of_the_gateway_and_suggests_a_repair() -> None:
    said: list[str] = []
    answers: list[httpx.Response] = []

    def wait() -> None:
        suggested = [line.strip() for line in said[-1].splitlines() if line.strip().startswith("curl -si")]
        answers.extend(map(run, suggested))

    rates = demo(said.append, wait, 0)
    text = "\n".join(said)
    assert "outcome passed" in text
    assert "outcome streamed" in text
    assert "200 outcome repaired, attempts 2" in text
    assert '{"name":"Grace Hopper" | ,"age":' in text
    assert {rate.model for rate in rates} == {"person", "true-person", "polite", "careless"}
    assert sum(rate.asked for rate in rates) == 5
    (answer,) = answers
    assert (answer.status_code, answer.headers["x-trueup-outcome"]) == (200, "repaired")
    assert answer.headers["x-trueup-attempts"] == "2"
    body = answer.json()
    assert body["choices"][0]["message"]["content"] == '{"name":"Grace Hopper","age":85}'
    assert {"S001", "W001"} <= {fix["code"] for fix in body["trueup"]["fixes"]}
