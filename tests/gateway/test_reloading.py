"""Another configuration while requests are under way: each request keeps the one that it came in under."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.gateway.conftest import GOOD, KEY, PERSON, QUICK, Open
from tests.waiting import wait_for
from trueup import Contract
from trueup.gateway.config import of
from trueup.testing.server import ScriptedServer

STRICT = {**PERSON, "required": ["name", "age", "born"]}


def test_a_request_finishes_under_the_configuration_that_it_came_in_under(desk: Open) -> None:
    asked, release = threading.Event(), threading.Event()

    def held(request: Any) -> str:
        asked.set()
        assert release.wait(60)
        return GOOD

    with ScriptedServer(then="no") as other, desk(held, PERSON) as d, ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(d.chat)
        try:
            assert asked.wait(60)
            d.gateway.adopt(of(other.url, Contract(STRICT, name="strict"), policy=QUICK))
            assert d.chat().status_code == 422
            assert other.requests
            assert d.upstream.connections == 1, "the old connection was cut under the request"
        finally:
            release.set()
        assert under_way.result().json()["choices"][0]["message"]["content"] == GOOD
        wait_for(lambda: not d.upstream.connections, "the old connections stay open")
        assert len(d.upstream.requests) == 1


def test_connections_are_kept_when_no_upstream_has_changed(desk: Open) -> None:
    with desk([GOOD, GOOD], PERSON) as d:
        assert d.chat().status_code == 200
        line = d.gateway.gateway.line
        d.gateway.adopt(of(d.upstream.url, Contract(PERSON, name="person"), key=KEY))
        assert d.gateway.gateway.line is line
        assert d.chat().status_code == 200
        assert d.upstream.connections == 1
