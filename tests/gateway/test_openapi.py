"""The description of the gateway's paths, played through by schemathesis: whatever is sent, nothing breaks."""

from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error

from tests.effort import SOAK
from tests.gateway.conftest import GOOD, PERSON, Open
from tests.waiting import wait_for
from trueup.gateway.pages.openapi import document
from trueup.gateway.passing.endpoints import GROUPS
from trueup.store.open import open_store

EXAMPLES = 300 if SOAK else 6
QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
MODES = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)


def play(operation: Any, urls: list[str]) -> None:
    """Send what fits the description of a path, and what does not, to each gateway: making it takes longer than sending it."""

    @settings(
        max_examples=EXAMPLES, deadline=None, suppress_health_check=QUIET, phases=[Phase.generate], derandomize=True
    )
    @given(st.data())
    def send(data: st.DataObject) -> None:
        for mode in MODES if operation.method == "post" else MODES[:1]:
            case = data.draw(operation.as_strategy(generation_mode=mode))
            for url in urls:
                response = case.call(base_url=url)
                case.validate_response(response, checks=[not_a_server_error])

    send()


def test_no_generated_request_breaks_the_gateway(desk: Open, tmp_path: Path) -> None:
    with (
        open_store(tmp_path / "passed.db") as one,
        open_store(tmp_path / "judged.db") as two,
        desk([], None, then=GOOD, store=one, endpoints=GROUPS) as passed,
        desk([], PERSON, then=GOOD, store=two, endpoints=GROUPS) as judged,
    ):
        both = (passed, judged)
        for operation in schemathesis.openapi.from_dict(document()).get_all_operations():
            play(operation.ok(), [d.url for d in both])
        for d in both:
            wait_for(lambda d=d: d.gateway.gateway.metrics.active == 0)  # type: ignore[misc]
            assert 'status="500"' not in d.http.get("/metrics").text


def test_the_description_is_served(desk: Open) -> None:
    with desk([]) as d:
        assert d.http.get("/openapi.json").json() == document()
