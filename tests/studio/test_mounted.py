"""The studio of a gateway at `/studio`: off unless configured, its own keys and roles, in every server, through reloads and stops."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway.serving import Served, configured, serving
from tests.studio.driving import LONGEST
from tests.waiting import wait_for
from trueup.gateway.keys import hash_of
from trueup.gateway.running import running
from trueup.gateway.settings import load_config, read_config
from trueup.store.open import open_store
from trueup.studio.mounted import offer
from trueup.testing.server import ScriptedServer

KEYS = {role: f"tu-key-of-a-{role}-0123456789" for role in ("reader", "labeller", "editor")}
WRITE = {"x-trueup-studio": "1"}


def entries(*roles: str) -> list[dict[str, Any]]:
    return [{"name": f"the {role}", "role": role, "hash": hash_of(KEYS[role])} for role in roles]


def section(**more: Any) -> dict[str, Any]:
    return {"keys": entries(*KEYS), "folders": ["."], **more}


def bearer(role: str) -> dict[str, str]:
    return {"authorization": f"Bearer {KEYS[role]}"}


def faults(folder: Path, **more: Any) -> list[str]:
    file = folder / "gateway.yaml"
    file.write_text(
        json.dumps({"upstreams": {"main": {"url": "http://127.0.0.1:1", "private": True}}, **more}), "utf-8"
    )
    return [str(fault).partition(": ")[2] for fault in read_config(file)[1]]


def test_the_section_is_checked_like_the_rest_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "contracts").mkdir()
    (tmp_path / "client.key").write_text("")
    assert faults(tmp_path, studio=section(folders=["contracts"], hosts=["studio.example.com", "[::1]"])) == []
    client = {"tenant": "acme", "hash": hash_of(KEYS["reader"])}
    said = faults(
        tmp_path, clients=[client], routes=[{"name": "studio"}],
        studio={
            "keys": [
                *entries("reader"), {"name": "the reader", "role": "boss", "key": "short"}, {"role": "editor"},
                {"name": "x", "role": "editor", "hash": "sha256:12", "key": "tu-0123456789012345678", "tenant": "*"}, "y",
                {"name": "z", "role": "editor", "key": "$NOT_SET_HERE"},
            ],
            "folders": ["contracts", "none", "client.key"], "hosts": ["http://studio", "a:80"], "secret": "few", "colour": "red",
        },
    )  # fmt: skip
    assert [line for line in said if KEYS["reader"] in line] == []
    for part in [
        "the studio is at /studio: a route cannot be called 'studio'",
        "a client, or another entry of the studio, has the same key",
        "another key of the studio is called 'the reader'",
        "role must be one of reader, labeller, editor; got 'boss'",
        "this key has fewer than 20 characters",
        "name is missing",
        "key is missing",
        "an entry has a key or a hash of it, not both",
        "hash must be `sha256:` and 64 hexadecimal digits",
        "tenant must be the name of one tenant",
        "each of keys must be a mapping",
        "the key is in $NOT_SET_HERE, which is not set",
        "there is no folder 'none'",
        "there is no folder 'client.key'",
        "a host must be a name without a scheme and a port, such as studio.example.com; got 'http://studio'",
        "got 'a:80'",
        "the secret has fewer than 20 characters",
        "unknown key 'colour'",
    ]:
        assert any(part in line for line in said), part
    assert "the studio needs keys" in faults(tmp_path, studio={})[0]
    assert "studio must be a mapping" in faults(tmp_path, studio="yes")[0]


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("$STUDIO_KEY", "this key has fewer than 20 characters"),
        ("", "this key has fewer than 20 characters"),
        (123456789012345678901234, "key is a text"),
        (None, "key is missing"),
        (["tu-0123456789012345678"], "key is a text"),
    ],
)
def test_a_guessable_key_is_refused_wherever_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: Any, said: str
) -> None:
    monkeypatch.setenv("STUDIO_KEY", "abc")
    [fault] = faults(tmp_path, studio=section(keys=[{"name": "ana", "role": "editor", "key": key}]))
    assert said in fault
    assert "abc" not in fault
    assert read_config(tmp_path / "gateway.yaml")[0] is None


def test_no_key_of_the_studio_is_ever_stored_or_shown(tmp_path: Path) -> None:
    plain = "tu-a-key-in-the-file-itself"
    keys = [{"name": "ana", "role": "editor", "key": plain}]
    assert faults(tmp_path, studio={"keys": keys, "secret": "a secret of the cookies"}) == []
    config = load_config(tmp_path / "gateway.yaml")
    assert {plain, "a secret of the cookies"} <= set(config.secrets())
    assert plain not in repr(config)
    assert "a secret of" not in repr(config)


def test_it_is_off_unless_the_file_has_a_section(tmp_path: Path) -> None:
    assert faults(tmp_path) == []
    config = load_config(tmp_path / "gateway.yaml")
    with running(config, studio=offer) as gateway:
        for path in ("/studio", "/studio/try", "/studio/api/about", "/studio/healthz"):
            assert httpx.get(f"{gateway.url}{path}").json()["error"]["code"] == "not_found"


def test_a_gateway_without_the_studio_does_not_import_it(tmp_path: Path) -> None:
    assert faults(tmp_path) == []
    program = (
        "import sys\n"
        "from trueup.cli.commands.serve import serve\n"
        "from trueup.gateway.running import running\n"
        "from trueup.gateway.serve import application\n"
        "from trueup.gateway.settings import load_config\n"
        "with running(load_config(sys.argv[1])):\n"
        "    print([name for name in sys.modules if name.startswith('trueup.studio')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "gateway.yaml")], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_keys_and_roles_follow_changes_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "person.yaml").write_text("schema: {type: object}\n")
    (tmp_path / "access").touch()

    def config(**more: Any) -> Any:
        assert faults(tmp_path, studio=section(**more), logs={"access": str(tmp_path / "access")}) == []
        return load_config(tmp_path / "gateway.yaml")

    with open_store(tmp_path / "v.db") as store, running(config(), store, studio=offer) as gateway:
        with httpx.Client(base_url=gateway.url) as browser:
            assert browser.get("/studio").headers["location"] == "/studio/sign-in"
            assert (
                browser.get(f"/studio/?token={KEYS['editor']}").headers["location"]
                == "/studio/sign-in?used=1&to=/studio/"
            )
            opened = browser.post("/studio/sign-in", data={"key": KEYS["editor"], "to": "/studio/verdicts?ok=false"})
            assert opened.headers["location"] == "/studio/verdicts?ok=false"
            assert "Path=/studio;" in opened.headers["set-cookie"]
            assert browser.get("/studio").headers["location"] == "/studio/try"
            about = browser.get("/studio/api/about").json()
            assert (about["role"], about["gateway"], about["store"]) == ("editor", "signal", True)
            page = browser.get("/studio/try").text
            assert 'content="/studio"' in page
            asset = page.partition('src="')[2].partition('"')[0]
            assert browser.get(asset).headers["cache-control"].endswith("immutable")
            live = browser.get("/studio/api/live").json()["gateway"]
            assert (live["problems"], live["breakers"], live["routes"]) == ([], [], [])
            described = browser.get("/studio/api/openapi.json").json()
            assert described["servers"] == [{"url": "/studio"}]
            files = browser.get("/studio/api/contracts").text
            assert "person.yaml" in files
            assert "gateway.yaml" not in files
            gateway.adopt(config(keys=entries("reader")))
            assert browser.get("/studio/api/about").status_code == 401, "the key of this cookie is gone"
            assert httpx.get(f"{gateway.url}/studio/api/about", headers=bearer("editor")).status_code == 401
            assert httpx.get(f"{gateway.url}/studio/api/about", headers=bearer("reader")).status_code == 200
            expired = [{**entries("reader")[0], "expires": "2020-01-01"}]
            file = tmp_path / "gateway.yaml"
            file.write_text(json.dumps({**json.loads(file.read_text()), "studio": section(keys=expired)}))
            gateway.adopt(load_config(file))
            assert httpx.get(f"{gateway.url}/studio/api/about", headers=bearer("reader")).status_code == 401
        for host, status in [("evil.example", 403), ("127.0.0.1", 401), ("10.1.2.3:8080", 401), ("localhost", 401)]:
            assert httpx.get(f"{gateway.url}/studio/api/about", headers={"host": host}).status_code == status
    log = (tmp_path / "access").read_text()
    assert '"outcome":"studio"' in log.replace(" ", "")
    assert "token" not in log
    assert KEYS["editor"] not in log


@pytest.mark.needs("browser")
def test_a_user_can_sign_out_and_the_page_reports_an_ended_session(browser: Any, tmp_path: Path) -> None:
    assert faults(tmp_path, studio=section()) == []
    with running(load_config(tmp_path / "gateway.yaml"), studio=offer) as gateway:
        context = browser.new_context(viewport={"width": 400, "height": 800})
        context.set_default_timeout(LONGEST)
        tab = context.new_page()
        tab.goto(f"{gateway.url}/studio/contracts")
        tab.fill("input[name=key]", KEYS["labeller"])
        tab.keyboard.press("Enter")
        leave = tab.locator("header button", has_text="Sign out")
        leave.wait_for()
        assert leave.get_attribute("title") == "Signed in as the labeller (labeller)"
        context.clear_cookies()
        tab.keyboard.press("4")
        tab.click("main [role=alert] a")
        tab.fill("input[name=key]", KEYS["labeller"])
        tab.keyboard.press("Enter")
        tab.wait_for_url(f"{gateway.url}/studio/runs")
        leave.click()
        tab.wait_for_url(f"{gateway.url}/studio/sign-in")
        assert context.cookies() == []
        context.close()


def test_the_gateways_own_file_cannot_be_read(tmp_path: Path) -> None:
    """The gateway's file may hold the keys of upstreams; no role of the studio sees it."""
    assert faults(tmp_path, studio=section()) == []
    label = tmp_path.resolve().name
    (tmp_path / "link.yaml").symlink_to("gateway.yaml")
    with running(load_config(tmp_path / "gateway.yaml"), studio=offer) as gateway:
        for name in ("gateway.yaml", "link.yaml", "./gateway.yaml", "../" + label + "/gateway.yaml"):
            answer = httpx.get(
                f"{gateway.url}/studio/api/contracts/file", params={"file": f"{label}/{name}"}, headers=bearer("editor")
            )
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no_file")


def _cookie(served: Served, role: str = "editor") -> dict[str, str]:
    opened = httpx.post(f"{served.url}/studio/sign-in", data={"key": KEYS[role]})
    assert opened.status_code == 303
    return dict(opened.cookies)


@pytest.mark.parametrize("options", [(), ("--workers", "2", "--reload"), ("--server", "granian", "--workers", "2")])
def test_every_server_can_mount_the_studio_and_every_worker_accepts_its_cookies(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    with (
        ScriptedServer(then='{"name": "Ana", "age": 5}') as upstream,
        serving(tmp_path, configured(upstream.url, store="s.db", studio=section()), *options) as served,
    ):
        cookies = _cookie(served)
        about = [httpx.get(f"{served.url}/studio/api/about", cookies=cookies).json() for _ in range(12)]
        assert {each["role"] for each in about} == {"editor"}
        assert {each["gateway"] for each in about} == {"reload" if "--reload" in options else "signal"}
        assert served.chat().status_code == 200
        rows: Callable[[], Any] = lambda: httpx.get(  # noqa: E731
            f"{served.url}/studio/api/verdicts", cookies=cookies
        ).json()["rows"]
        wait_for(rows, "the studio shows what the gateway has stored")
        served.write(configured(upstream.url, store="s.db", studio=section(keys=entries("reader"))))
        if "--reload" not in options:
            served.hang_up()
        status: Callable[[], set[int]] = lambda: {  # noqa: E731
            httpx.get(f"{served.url}/studio/api/about", cookies=cookies).status_code for _ in range(6)
        }
        wait_for(lambda: status() == {401}, "a key that was taken out still opens the studio")
        assert served.stop() in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
        assert "Traceback" not in served.log
        assert KEYS["editor"] not in served.log
