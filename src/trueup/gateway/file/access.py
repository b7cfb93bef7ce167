"""Reads the `auth` of an upstream (a word or a mapping) into an Access, with a fault for each missing part."""

import shutil
from typing import TYPE_CHECKING, Any

from trueup.gateway.config import Access, AwsKeys, TokenSource
from trueup.verdict.paths import Parts

if TYPE_CHECKING:
    from trueup.gateway.settings import SettingsReader

_KINDS = {
    "azure": ("kind", "version", "token"),
    "bedrock": ("kind", "region", "access_key", "secret_key", "session_token", "credentials"),
    "vertex": ("kind", "project", "region", "token"),
}
_SOURCE = ("command", "file", "metadata", "seconds")
_AWS = {"access_key": "AWS_ACCESS_KEY_ID", "secret_key": "AWS_SECRET_ACCESS_KEY", "session_token": "AWS_SESSION_TOKEN"}


def read_access(desk: "SettingsReader", data: Any, path: Parts, key: str, key_path: Parts) -> Access | None:
    """How to address a cloud upstream and sign its requests; None if there is no `auth`."""
    if data is None:
        return None
    part = {"kind": data} if isinstance(data, str) else desk.mapping(data, path, None)
    here = path if isinstance(data, str) else (*path, "kind")
    kind = desk.word(part.get("kind"), here, tuple(_KINDS))
    if kind != part.get("kind"):
        return None
    desk.mapping(part, path, _KINDS[kind])
    reader = {"azure": _azure, "bedrock": _bedrock, "vertex": _vertex}[kind]
    return reader(desk, part, path, key, key_path)


def base_of(access: Access | None) -> str:
    """The address of an upstream that needs none in the file; empty if it needs one."""
    if access is None or not access.region:
        return ""
    if access.kind == "bedrock":
        return f"https://bedrock-runtime.{access.region}.amazonaws.com"
    if access.kind == "vertex":
        return f"https://{'' if access.region == 'global' else access.region + '-'}aiplatform.googleapis.com"
    return ""


def _azure(desk: "SettingsReader", part: dict[str, Any], path: Parts, key: str, key_path: Parts) -> Access:
    token = _source(desk, part.get("token"), (*path, "token"))
    if not key and token is None:
        desk.say(
            "N006",
            path,
            "azure needs a key or a token",
            "Give `key: $AZURE_OPENAI_API_KEY`, or `token: {command: […]}`.",
        )
    if key and token is not None:
        desk.say("N006", key_path, "azure takes a key or a token, not both", "Leave one of them out.")
    return Access("azure", key=key, version=desk.text(part.get("version", ""), (*path, "version")), token=token)


def _vertex(desk: "SettingsReader", part: dict[str, Any], path: Parts, key: str, key_path: Parts) -> Access:
    if key:
        desk.say(
            "N006", key_path, "vertex takes no key", "Give `token: {command: [gcloud, auth, print-access-token]}`."
        )
    token = _source(desk, part.get("token"), (*path, "token"))
    if token is None:
        said = "vertex needs a token"
        desk.say(
            "N006", path, said, "Give `token: {command: [gcloud, auth, print-access-token]}` or `{metadata: true}`."
        )
    region = desk.text(part.get("region"), (*path, "region"), needed=True)
    return Access(
        "vertex", project=desk.text(part.get("project"), (*path, "project"), needed=True), region=region, token=token
    )


def _bedrock(desk: "SettingsReader", part: dict[str, Any], path: Parts, key: str, key_path: Parts) -> Access:  # noqa: ARG001 - as the others
    region = desk.text(part.get("region") or desk.environ.get("AWS_REGION"), (*path, "region"), needed=True)
    source = _source(desk, part.get("credentials"), (*path, "credentials"))
    if key or source is not None:
        return Access("bedrock", key=key, region=region, token=source)
    given = {
        name: desk.sent(part[name], (*path, name), name.replace("_", " "))
        if name in part
        else desk.environ.get(variable, "")
        for name, variable in _AWS.items()
    }
    if not given["access_key"] or not given["secret_key"]:
        said = "bedrock needs credentials, and $AWS_ACCESS_KEY_ID or $AWS_SECRET_ACCESS_KEY is not set"
        hint = "Set them, or give `key: $AWS_BEARER_TOKEN_BEDROCK`, or `credentials: {command: […]}`."
        desk.say("N006", path, said, hint)
    return Access("bedrock", region=region, aws=AwsKeys(**given))


def _source(desk: "SettingsReader", data: Any, path: Parts) -> TokenSource | None:
    """The source of a token."""
    if data is None:
        return None
    part = desk.mapping(data, path, _SOURCE)
    command = tuple(desk.text(each, (*path, "command")) for each in desk.items(part.get("command"), (*path, "command")))
    file = desk.text(part.get("file", ""), (*path, "file"))
    metadata = desk.yes(part.get("metadata", False), (*path, "metadata"))
    if bool(command) + bool(file) + metadata != 1:
        desk.say("N006", path, "a token comes from one of `command`, `file` and `metadata`")
    if command and shutil.which(command[0]) is None:
        desk.say(
            "N006", (*path, "command"), f"the command {command[0]!r} is not found", "Install it, or give its path."
        )
    seconds = part.get("seconds", 300)
    if type(seconds) not in (int, float) or seconds <= 0:
        desk.say("N006", (*path, "seconds"), f"seconds must be a number above 0; got {seconds!r}")
        seconds = 300
    return TokenSource(command, str(desk.folder / file) if file else "", metadata, float(seconds))
