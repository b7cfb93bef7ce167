"""`trueup serve --demo`: the local model behind the gateway, with nothing scripted."""

import pytest

from trueup.gateway.demo import demo


@pytest.mark.needs("model")
def test_the_demonstration_shows_each_way_through_the_gateway() -> None:
    said: list[str] = []
    waited: list[bool] = []
    rates = demo(said.append, lambda: waited.append(True), 0)
    text = "\n".join(said)
    assert waited == [True]
    assert "outcome passed" in text
    assert "outcome streamed" in text
    assert '{"name":"Grace Hopper" | ,"age":' in text
    assert {rate.model for rate in rates} == {"person", "true-person", "polite"}
    assert sum(rate.asked for rate in rates) == 4
    assert "curl -si http://127.0.0.1:" in text
