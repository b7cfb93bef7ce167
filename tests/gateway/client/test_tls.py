"""TLS options of an upstream: further authorities, certificates of our own, no check; and proxies by the environment."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.client.test_upstream import BODY, Peer, _certificate, send_and_read
from trueup.ask.clients.request import TransportFailure
from trueup.gateway.client.proxies import Proxy, proxy_for
from trueup.gateway.client.tls import Tls, context_of
from trueup.gateway.client.upstream import UpstreamConnections
from trueup.gateway.config import Upstream
from trueup.gateway.settings import read_config


def _served(certificate: Path, secret: Path, *, asks: bool = False) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(certificate, secret)
    if asks:
        made.verify_mode = ssl.CERT_REQUIRED
        made.load_verify_locations(certificate)
    return made


def test_a_configured_authority_is_trusted_and_a_client_certificate_is_sent(tmp_path: Path) -> None:
    certificate, secret = map(str, _certificate(tmp_path, "localhost"))
    ways = {
        "none": (Tls(), False), "ca": (Tls(ca=certificate), True), "off": (Tls(verify=False), True),
    }  # fmt: skip

    async def run(tls: Tls, *, asks: bool) -> bool:
        peer = Peer()
        async with peer.open(ssl=_served(Path(certificate), Path(secret), asks=asks)) as port:
            upstream = Upstream("main", f"https://localhost:{port}", tls=tls)
            line = UpstreamConnections({"main": upstream}, 1000, environ={})
            try:
                await send_and_read(line, upstream)
            except TransportFailure:
                return False
            finally:
                await line.close()
            return True

    for tls, works in ways.values():
        assert asyncio.run(run(tls, asks=False)) is works
    assert not asyncio.run(run(Tls(ca=certificate), asks=True))
    assert asyncio.run(run(Tls(ca=certificate, cert=certificate, key=secret), asks=True))


def test_nothing_older_than_tls_1_2_is_accepted_and_the_variable_adds_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert context_of(Tls()).minimum_version == ssl.TLSVersion.TLSv1_2
    own = len(context_of(Tls()).get_ca_certs())
    certificate, _ = _certificate(tmp_path, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    names = [dict(part[0] for part in found["subject"]) for found in context_of(Tls()).get_ca_certs()]
    assert {"commonName": "localhost"} in names
    assert len(names) >= min(own, 1)


def test_tls_options_in_a_file_are_checked(tmp_path: Path) -> None:
    certificate, secret = _certificate(tmp_path, "localhost")
    file = tmp_path / "gateway.yaml"

    def faults(options: str) -> list[str]:
        file.write_text(f"upstreams:\n  main:\n    url: https://models.example\n    tls: {options}\n")
        config, found = read_config(file, {})
        if config is not None:
            assert config.upstreams["main"].tls.verify
        return [str(fault).partition("gateway.yaml:")[2] for fault in found]

    assert faults(f"{{ca: {certificate.name}, cert: {certificate.name}, key: {secret.name}}}") == []
    assert faults("{ca: nowhere.pem}")[0].startswith(
        "4:11: N006 ca: the file 'nowhere.pem' cannot be used (No such file"
    )
    assert "not valid PEM" in faults("{ca: gateway.yaml}")[0]
    assert "a key needs its certificate" in faults(f"{{key: {secret.name}}}")[0]
    assert "unknown key 'verfy'" in faults("{verfy: true}")[0]


# -- proxies -----------------------------------------------------------------------------------

PROXY = Proxy("proxy.example", 3128, "")


@pytest.mark.parametrize(
    ("host", "secure", "environ", "found"),
    [
        ("api.example", True, {}, None),
        ("api.example", True, {"HTTPS_PROXY": "http://proxy.example:3128"}, PROXY),
        ("api.example", True, {"https_proxy": "proxy.example:3128", "HTTPS_PROXY": "http://other.example"}, PROXY),
        ("api.example", True, {"HTTP_PROXY": "http://proxy.example:3128"}, None),
        ("api.example", False, {"HTTP_PROXY": "http://proxy.example:3128"}, PROXY),
        ("api.example", False, {"ALL_PROXY": "http://proxy.example:3128"}, PROXY),
        ("api.example", True, {"ALL_PROXY": "http://proxy.example:3128", "NO_PROXY": "x, api.example"}, None),
        ("api.example", True, {"ALL_PROXY": "http://proxy.example:3128", "NO_PROXY": ".example"}, None),
        ("api.example", True, {"ALL_PROXY": "http://proxy.example:3128", "NO_PROXY": "example:443"}, None),
        ("api.example", True, {"ALL_PROXY": "http://proxy.example:3128", "NO_PROXY": "example:444,i.example"}, PROXY),
        ("api.example", True, {"ALL_PROXY": "http://proxy.example:3128", "NO_PROXY": "*"}, None),
        ("10.1.2.3", True, {"ALL_PROXY": "http://proxy.example:3128", "NO_PROXY": "10.0.0.0/8"}, None),
        ("11.1.2.3", True, {"ALL_PROXY": "http://proxy.example:3128", "NO_PROXY": "10.0.0.0/8"}, PROXY),
        ("localhost", True, {"ALL_PROXY": "http://proxy.example:3128"}, None),
        ("127.0.0.1", False, {"ALL_PROXY": "http://proxy.example:3128"}, None),
    ],
)
def test_the_environment_names_the_proxy(host: str, secure: bool, environ: dict[str, str], found: Proxy | None) -> None:
    assert proxy_for(host, 443 if secure else 80, environ, secure=secure) == found


@pytest.mark.parametrize(
    "text", ["socks5://ada:canary@proxy.example", "https://ada:canary@proxy.example", "http://", "http://a:b:c"]
)
def test_a_proxy_that_cannot_be_used_is_an_error_and_never_a_direct_connection(text: str) -> None:
    with pytest.raises(ValueError, match="ALL_PROXY does not name a supported proxy") as caught:
        proxy_for("api.example", 443, {"ALL_PROXY": text}, secure=True)
    assert "canary" not in str(caught.value)


def test_a_proxy_that_cannot_be_used_is_a_fault_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text("upstreams:\n  main:\n    url: https://models.example\n")
    _, faults = read_config(file, {"ALL_PROXY": "socks5://ada:canary@proxy.example"})
    assert "gateway.yaml:3:5: N006 the gateway cannot reach this upstream: ALL_PROXY" in str(faults[0])
    assert "canary" not in str(faults)
    assert read_config(file, {"ALL_PROXY": "socks5://proxy.example", "NO_PROXY": "models.example"})[1] == []


class Middleman:
    """A proxy: opens tunnels to one port whatever it is asked for, or answers a request itself."""

    def __init__(self, to: int, status: int = 200) -> None:
        self.to, self.status = to, status
        self.heads: list[str] = []
        self._tasks: set[Any] = set()
        self._writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        if not head.startswith("CONNECT"):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(BODY), BODY))
            return
        writer.write(b"HTTP/1.1 %d Said\r\n\r\n" % self.status)
        if self.status != 200:
            writer.close()
            return
        behind, ahead = await asyncio.open_connection("127.0.0.1", self.to)
        self._writers.append(ahead)
        for source, target in ((reader, ahead), (behind, writer)):
            task = asyncio.ensure_future(self._copy(source, target))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await source.read(65_536):
                target.write(piece)
        target.close()

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        try:
            yield f"http://ada:p%40ss@127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for writer in self._writers:
                writer.close()
            for writer in self._writers:
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
            await asyncio.gather(*self._tasks)


@pytest.mark.spec("X29")
def test_requests_go_through_a_proxy_and_its_password_is_sent_nowhere_else(tmp_path: Path) -> None:
    certificate, secret = _certificate(tmp_path, "models.example")

    async def run() -> None:
        peer = Peer()
        async with peer.open(ssl=_served(certificate, secret)) as port:
            proxy = Middleman(port)
            async with proxy.open() as url:
                secure = Upstream("secure", "https://models.example", key="sk-key", tls=Tls(ca=str(certificate)))
                plain = Upstream("plain", "http://models.example:8000", private=True)
                hidden = Upstream("hidden", "https://169.254.169.254")
                line = UpstreamConnections(
                    {"secure": secure, "plain": plain, "hidden": hidden}, 1000, environ={"ALL_PROXY": url}
                )
                for _ in range(2):
                    await send_and_read(line, secure)
                assert proxy.heads[0].startswith("CONNECT models.example:443 HTTP/1.1\r\n")
                assert "proxy-authorization: Basic YWRhOnBAc3M=\r\n" in proxy.heads[0]
                assert "sk-key" not in str(proxy.heads), "what is said to the upstream is not for the proxy"
                assert b"proxy-authorization" not in peer.heads[0]
                assert len(proxy.heads) == 1, "the connection is kept"
                await send_and_read(line, plain)
                assert proxy.heads[1].startswith("POST http://models.example:8000/v1/chat/completions HTTP/1.1\r\n")
                assert "proxy-authorization: Basic YWRhOnBAc3M=\r\n" in proxy.heads[1]
                with pytest.raises(TransportFailure, match="private: true"):
                    await line.send(hidden, "/v1/models", None, {})
                assert len(proxy.heads) == 2
                proxy.status = 407
                fresh = UpstreamConnections({"secure": secure}, 1000, environ={"https_proxy": url})
                with pytest.raises(TransportFailure, match=r"the proxy refused the connection \(status 407\)"):
                    await fresh.send(secure, "/v1/models", None, {})
                await fresh.close()
                await line.close()

    asyncio.run(run())
