"""The files for running the gateway, looked at as a linter would; their configuration is loaded and their probes are run."""

import configparser
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx
import pytest
import yaml

from trueup.gateway.config import Config, Limits, of
from trueup.gateway.running import running
from trueup.gateway.settings import load_config
from trueup.testing.server import ScriptedServer

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "examples" / "deploy"


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Containerfile, continued lines joined."""
    text = re.sub(r"\\\n", " ", (DEPLOY / "Containerfile").read_text("utf-8"))
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def test_the_container_is_pinned_runs_without_root_and_contains_no_key() -> None:
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


KNOWN = {
    "FROM", "ARG", "LABEL", "RUN", "COPY", "ENV", "USER", "WORKDIR", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD",
}  # fmt: skip


def test_the_container_is_built_from_hashes_and_labelled() -> None:
    found = instructions()
    assert {word for word, _ in found} <= KNOWN
    runs = [rest for word, rest in found if word == "RUN"]
    for run in runs:
        done = subprocess.run(["sh", "-n", "-c", run], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    installs = [part for run in runs for part in run.split("&&") if "pip install" in part]
    assert installs
    assert all("--require-hashes" in part or ("--no-deps" in part and "--no-index" in part) for part in installs)
    for word, rest in found:
        if word == "COPY" and not rest.startswith("--from"):
            source = ROOT / rest.split()[0]
            assert source.exists() or source.name == "dist", rest
    labels = next(rest for word, rest in found if word == "LABEL")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f'licenses="{project["license"]}"' in labels
    assert {"title", "description", "licenses", "version", "revision"} == set(re.findall(r"image\.(\w+)=", labels))
    health = next(rest for word, rest in found if word == "HEALTHCHECK")
    compile(json.loads(health[health.index("[") :])[2], "healthcheck", "exec")
    images = [rest.split()[0] for word, rest in found if word == "FROM"]
    assert len(set(images)) == 1, "what was built for one Python runs on the same"
    version = re.search(r"python:(\d\.\d+)", images[0])
    assert version is not None
    assert f"Programming Language :: Python :: {version[1]}" in project["classifiers"]


def test_the_lock_file_of_the_container_has_the_packages_of_its_extras() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    pinned = set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements" / "gateway.lock").read_text("utf-8"), re.MULTILINE))
    needed = {
        re.split(r"[<>=!~;\[ ]", need)[0] for extra in ("gateway", "postgres", "telemetry") for need in extras[extra]
    }
    assert needed <= pinned, "run the last command of `make lock`"


def test_the_health_check_agrees_with_readyz() -> None:
    health = next(rest for word, rest in instructions() if word == "HEALTHCHECK")
    program = json.loads(health[health.index("[") :])[2]
    with ScriptedServer([]) as upstream, running(of(upstream.url)) as gateway:
        own = program.replace("8080", gateway.url.rpartition(":")[2])
        assert own != program

        def code() -> int:
            return subprocess.run([sys.executable, "-c", own], check=False).returncode

        assert code() == 0
        gateway.gateway.stopping = True
        assert code() == 1
    assert subprocess.run([sys.executable, "-c", own], check=False, stderr=subprocess.DEVNULL).returncode == 1


ENVIRON = {
    "TRUEUP_STORE": "postgresql://trueup:letters@db:5432/trueup", "OPENAI_API_KEY": "k", "WEB_KEY_HASH": "sha256:" + "0" * 64,
}  # fmt: skip


def load(folder: Path, gateway: str, contracts: dict[str, str], environ: dict[str, str]) -> Config:
    (folder / "contracts").mkdir(exist_ok=True)
    (folder / "gateway.yaml").write_text(gateway)
    for name, text in contracts.items():
        (folder / name).write_text(text)
    return load_config(folder / "gateway.yaml", environ)


def test_compose_starts_the_image_with_only_what_it_needs(tmp_path: Path) -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    gateway, db = compose["services"]["gateway"], compose["services"]["db"]
    assert set(gateway["environment"]) == set(ENVIRON)
    person = (ROOT / "examples" / "contracts" / "person.yaml").read_text("utf-8")
    config = load(tmp_path, (DEPLOY / "gateway.yaml").read_text("utf-8"), {"contracts/person.yaml": person}, ENVIRON)
    assert config.quota
    mounts = dict(each.split(":")[:2] for each in gateway["volumes"])
    assert mounts == {"./gateway.yaml": "/etc/trueup/gateway.yaml", "./contracts": "/etc/trueup/contracts"}
    assert all(each.endswith(":ro") for each in gateway["volumes"])
    assert (gateway["read_only"], gateway["cap_drop"]) == (True, ["ALL"])
    assert gateway["ports"] == [f"127.0.0.1:{config.port}:{config.port}"]
    assert int(gateway["stop_grace_period"].rstrip("s")) > config.limits.stop_seconds + 5
    assert db["healthcheck"]["test"][:2] == ["CMD", "pg_isready"]
    for service in (gateway, db):
        for name, value in service["environment"].items():
            secret = re.search("KEY|PASSWORD|STORE", name)
            assert secret is None or "${" in value, f"{name} is written down"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert gateway["image"] == f"trueup-gateway:{project['version']}"


def test_the_kubernetes_objects_fit_together(tmp_path: Path) -> None:
    objects = {each["kind"]: each for each in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8"))}
    assert set(objects) == {"Secret", "ConfigMap", "Deployment", "Service"}
    data = objects["ConfigMap"]["data"]
    for name, file in (("gateway.yaml", DEPLOY), ("person.yaml", ROOT / "examples" / "contracts")):
        schema, _, rest = (file / name).read_text("utf-8").partition("\n")  # its path exists in a checkout only
        assert schema.startswith("# yaml-language-server: ")
        assert data[name] == rest
    pod = objects["Deployment"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    volumes = {each["name"]: each for each in pod["spec"]["volumes"]}
    assert {each["name"] for each in container["volumeMounts"]} == set(volumes)
    files = {each["path"]: data[each["key"]] for each in volumes["config"]["configMap"]["items"]}
    config = load(tmp_path, files.pop("gateway.yaml"), files, objects["Secret"]["stringData"])
    assert set(objects["Secret"]["stringData"]) == set(ENVIRON)
    assert container["envFrom"] == [{"secretRef": {"name": objects["Secret"]["metadata"]["name"]}}]
    assert volumes["config"]["configMap"]["name"] == objects["ConfigMap"]["metadata"]["name"]
    assert container["ports"][0]["containerPort"] == config.port
    with ScriptedServer([]) as upstream, running(of(upstream.url)) as gateway:
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
            assert httpx.get(gateway.url + container[probe]["httpGet"]["path"]).status_code == 200
    labels = pod["metadata"]["labels"]
    assert objects["Deployment"]["spec"]["selector"]["matchLabels"] == objects["Service"]["spec"]["selector"] == labels
    user = next(rest for word, rest in instructions() if word == "USER").partition(":")[0]
    assert (pod["spec"]["securityContext"]["runAsUser"], pod["spec"]["securityContext"]["runAsNonRoot"]) == (
        int(user),
        True,
    )
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["spec"]["terminationGracePeriodSeconds"] > pause + config.limits.stop_seconds + 5


def test_nginx_passes_every_path_of_a_route() -> None:
    patterns = re.findall(r"location ~ (\S+) \{", (DEPLOY / "nginx.conf").read_text("utf-8"))
    for path in ("/v1/chat/completions", "/v1/messages", "/clinic/v1/responses"):
        assert re.search(patterns[0], path), path
    assert not re.search(patterns[0], "/metrics")


def test_the_systemd_unit_checks_its_file_is_isolated_and_lets_work_finish() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string((DEPLOY / "trueup-gateway.service").read_text("utf-8"))
    service = unit["Service"]
    start, check = shlex.split(service["ExecStart"]), shlex.split(service["ExecStartPre"])
    assert check == [*start, "--check"]
    assert start[1] == "serve"
    assert int(service["TimeoutStopSec"]) > Limits().stop_seconds + 5
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"
    for name in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "DynamicUser"):
        assert service[name] == "yes"
    assert not re.search(r"(?i)environment=.*key", "\n".join(f"{k}={v}" for k, v in service.items()))


@pytest.mark.parametrize(
    "line", ["proxy_buffering off;", "proxy_next_upstream off;", "proxy_http_version 1.1;", 'X-Trueup-User ""']
)
def test_nginx_is_configured_for_streams_and_quota(line: str) -> None:
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    assert line in text
    assert text.count("{") == text.count("}")
    seconds = re.search(r"proxy_read_timeout (\d+)s", text)
    assert seconds is not None
    assert int(seconds[1]) > Limits().total_seconds
