"""Where an upstream may be: private addresses by name and written out in every form, and names that nobody knows."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest

from trueup.ask.clients.request import TransportFailure
from trueup.gateway.client.addresses import Addresses, Forbidden
from trueup.gateway.client.upstream import UpstreamConnections
from trueup.gateway.config import Config, Upstream
from trueup.gateway.running import running
from trueup.gateway.settings import read_config

PRIVATE = [
    "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "0.0.0.0", "10.0.0.8", "172.16.0.1", "192.168.1.1",
    "100.64.0.1", "169.254.169.254", "2852039166", "198.18.0.1", "224.0.0.1", "255.255.255.255",
    "::1", "::", "::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "64:ff9b::7f00:1", "2002:7f00:1::", "fe80::1", "fc00::1", "fd00:ec2::254",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "1.1.1.1", "134744072", "2606:4700:4700::1111", "::ffff:8.8.8.8"]


def _url(host: str) -> str:
    return f"http://[{host}]:9" if ":" in host else f"http://{host}:9"


@pytest.mark.spec("X29")
@pytest.mark.parametrize("host", PRIVATE)
def test_a_literal_private_address_must_be_allowed(host: str) -> None:
    with pytest.raises(Forbidden, match="`private: true`"):
        asyncio.run(Addresses(frozenset()).of(host, 9))
    assert asyncio.run(Addresses(frozenset({host})).of(host, 9))


@pytest.mark.spec("X29")
@pytest.mark.parametrize("host", PUBLIC)
def test_a_literal_public_address_needs_no_permission(host: str) -> None:
    assert asyncio.run(Addresses(frozenset()).of(host, 9))


@pytest.mark.spec("X29")
@pytest.mark.parametrize("host", PRIVATE)
def test_a_private_address_that_is_not_allowed_is_a_fault_with_its_position(tmp_path: Path, host: str) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(f'upstreams:\n  main:\n    url: "{_url(host)}"\n')
    config, faults = read_config(file, {})
    assert config is None
    assert "gateway.yaml:3:5: N006" in str(faults[0])
    assert "is a private address" in str(faults[0])
    assert "Add `private: true`" in str(faults[0])
    file.write_text(f'upstreams:\n  main:\n    url: "{_url(host)}"\n    private: true\n')
    assert read_config(file, {})[1] == []


@pytest.mark.spec("X29")
def test_the_gateway_refuses_a_private_address_that_was_not_allowed() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    with running(Config({"main": Upstream("main", "http://127.0.0.1:9")})) as gateway:
        response = httpx.post(f"{gateway.url}/v1/chat/completions", json=body)
    assert response.status_code == 502
    assert "private: true" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("code", "why"),
    [(socket.EAI_NONAME, "no such host"), (socket.EAI_AGAIN, "the name service did not answer")],
)
def test_a_name_that_cannot_be_resolved_is_reported_as_such(
    monkeypatch: pytest.MonkeyPatch, code: int, why: str
) -> None:
    async def run() -> str:
        async def nothing(*given: Any, **more: Any) -> Any:
            raise socket.gaierror(code, "10.1.2.3 said so")

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", nothing)
        upstream = Upstream("main", "https://api.openai.example", key="sk-secret-0123456789")
        line = UpstreamConnections({"main": upstream}, 1000)
        with pytest.raises(TransportFailure) as caught:
            await line.send(upstream, "/v1/models", None, {})
        await line.close()
        return caught.value.failure.reason

    said = asyncio.run(run())
    assert said == f"upstream 'main': the name api.openai.example cannot be resolved ({why})"


@pytest.mark.parametrize("host", ["a" * 70 + ".example", "ü" * 70 + ".example", "a..example", "nobody.invalid"])
def test_an_invalid_host_name_gives_a_502(host: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    with running(Config({"main": Upstream("main", f"https://{host}")})) as gateway:
        response = httpx.post(f"{gateway.url}/v1/chat/completions", json=body, timeout=60)
    assert response.status_code == 502
    assert "cannot be resolved" in response.json()["error"]["message"]
