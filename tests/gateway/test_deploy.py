"""The files for running the gateway, looked at as a linter would: nothing here builds or starts them."""

import configparser
import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "examples" / "deploy"


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Containerfile, continued lines joined."""
    text = re.sub(r"\\\n", " ", (DEPLOY / "Containerfile").read_text("utf-8"))
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def test_the_container_is_pinned_runs_without_root_and_holds_no_key() -> None:
    found = instructions()
    images = [rest.split()[0] for word, rest in found if word == "FROM"]
    assert images
    assert all(re.search(r":\d+\.\d+", image) and "latest" not in image for image in images)
    users = [rest for word, rest in found if word == "USER"]
    assert users
    assert users[-1] not in ("root", "0")
    assert not [
        rest
        for word, rest in found
        if word in ("ENV", "ARG") and re.search("key|token|secret|password", rest, re.IGNORECASE)
    ]
    assert not [rest for word, rest in found if word == "ADD"]
    for word in ("ENTRYPOINT", "CMD"):
        rest = next(rest for name, rest in found if name == word)
        assert isinstance(json.loads(rest), list), "the exec form, so that signals arrive"
    assert ("STOPSIGNAL", "SIGTERM") in found


def test_what_the_file_of_the_gateway_names_is_in_the_container() -> None:
    copied = {rest.split()[-2].rstrip("/"): rest.split()[-1] for word, rest in instructions() if word == "COPY"}
    assert copied["gateway.yaml"] == "/etc/trueup/gateway.yaml"
    named = re.findall(
        r"^  \w+: (\w+)/\w+\.yaml$", (ROOT / "examples" / "gateway.yaml").read_text("utf-8"), re.MULTILINE
    )
    assert named
    assert {f"/etc/trueup/{folder}" for folder in named} <= set(copied.values())


def test_nginx_lets_every_way_to_a_route_through() -> None:
    patterns = re.findall(r"location ~ (\S+) \{", (DEPLOY / "nginx.conf").read_text("utf-8"))
    for path in ("/v1/chat/completions", "/v1/messages", "/clinic/v1/responses"):
        assert re.search(patterns[0], path), path
    assert not re.search(patterns[0], "/metrics")


def test_the_extras_of_the_container_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = re.search(r"\[([a-z,]+)\]\"", (DEPLOY / "Containerfile").read_text("utf-8"))
    assert named is not None
    assert set(named[1].split(",")) <= extras.keys()


def test_the_unit_checks_its_file_keeps_to_itself_and_lets_work_finish() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string((DEPLOY / "trueup-gateway.service").read_text("utf-8"))
    service = unit["Service"]
    start, check = shlex.split(service["ExecStart"]), shlex.split(service["ExecStartPre"])
    assert check == [*start, "--check"]
    assert start[1] == "serve"
    from trueup.gateway.config import Limits

    assert int(service["TimeoutStopSec"]) > Limits().stop_seconds + 5
    for name in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "DynamicUser"):
        assert service[name] == "yes"
    assert not re.search(r"(?i)environment=.*key", "\n".join(f"{k}={v}" for k, v in service.items()))


@pytest.mark.parametrize(
    "line", ["proxy_buffering off;", "proxy_next_upstream off;", "proxy_http_version 1.1;", 'X-Trueup-User ""']
)
def test_nginx_says_what_streams_and_quota_need(line: str) -> None:
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    assert line in text
    assert text.count("{") == text.count("}")
    seconds = re.search(r"proxy_read_timeout (\d+)s", text)
    from trueup.gateway.config import Limits

    assert seconds is not None
    assert int(seconds[1]) > Limits().total_seconds
