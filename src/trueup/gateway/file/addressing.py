"""Reads the addresses of upstreams and of the store in a gateway's file.

An upstream's address is a base URL: an endpoint at its end, a query or a fragment is a fault that shows the correct address.
A password in an address is a warning. No fault repeats a password.
"""

import os
import re
import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from trueup.gateway.client.addresses import is_public, literal
from trueup.gateway.client.proxies import proxy_for
from trueup.gateway.client.tls import Tls, context_of
from trueup.store.errors import StoreUnavailable
from trueup.store.open import file_of
from trueup.verdict.paths import Parts

if TYPE_CHECKING:
    from trueup.gateway.settings import SettingsReader

# Paths that the gateway adds itself. Words that a base URL may also end in count only after a version.
_ENDPOINT = re.compile(
    r"(?:/v\d+)?/chat/completions$"
    r"|/v\d+/(?:completions|responses|messages(?:/(?:batches|count_tokens))?|embeddings|models|moderations|files|batches"
    r"|images/\w+|audio/\w+)$"
)


def read_url(desk: "SettingsReader", data: Any, path: Parts) -> str:
    """The base URL of an upstream, without `/v1`."""
    given = desk.text(data, path, needed=True)
    if not given:
        return ""
    parts = _parts(given)
    if parts is None:
        shown = given.rpartition("@")[2]
        desk.say("N006", path, f"url must be an address that starts with http:// or https://; got {shown!r}")
        return ""
    base = parts._replace(path=_base(parts.path), query="", fragment="")
    if _ENDPOINT.search(parts.path.rstrip("/")):
        said = "url is the base address of an upstream; this one ends in an endpoint, which the gateway adds itself"
        desk.say("N006", path, said, f"Write {_shown(base)}.")
    elif "?" in given or "#" in given:
        said = "url is the base address of an upstream, without a query and a fragment"
        desk.say("N006", path, said, f"Write {_shown(base)}.")
    if parts.password:
        desk.say(
            "N051",
            path,
            "the password of the upstream is in its address",
            "Give it as `key: $VARIABLE` or in `headers`.",
        )
    return base.geturl()


def check_private(desk: "SettingsReader", url: str, path: Parts, *, private: bool) -> None:
    """Report an address of this machine or a private network that the file does not allow."""
    host = (urlsplit(url).hostname or "") if url else ""
    written = literal(host)
    if written is not None and not private and not is_public(str(written)):
        said = f"{host} is a private address; requests to it are refused"
        desk.say("N006", path, said, "Add `private: true` to this upstream if that is where it is.")


def check_proxy(desk: "SettingsReader", url: str, path: Parts) -> None:
    """Report a proxy of the environment that cannot be used for an upstream."""
    address = urlsplit(url)
    secure = address.scheme == "https"
    try:
        proxy_for(address.hostname or "", address.port or (443 if secure else 80), desk.environ, secure=secure)
    except ValueError as error:
        desk.say(
            "N006",
            path,
            f"this upstream cannot be reached: {error}",
            "Change the variable, or list the host in NO_PROXY.",
        )


def read_tls(desk: "SettingsReader", data: Any, path: Parts) -> Tls:
    """The TLS options of an upstream, with readable files; their paths are relative to the configuration's folder."""
    if data is None:
        return Tls()
    part = desk.mapping(data, path, Tls.__struct_fields__)
    names = {
        name: str(desk.folder / text)
        for name in ("ca", "cert", "key")
        if (text := desk.text(part.get(name, ""), (*path, name)))
    }
    found = Tls(**names, verify=desk.yes(part.get("verify", True), (*path, "verify")))
    if found.key and not found.cert:
        desk.say("N006", (*path, "key"), "a key needs its certificate", "Give `cert: FILE` too.")
        return Tls()
    for name in names:
        try:
            context_of(Tls(ca=found.ca) if name == "ca" else Tls(cert=found.cert, key=found.key))
        except OSError as error:
            why = os.strerror(error.errno) if error.errno and not isinstance(error, ssl.SSLError) else "not valid PEM"
            desk.say("N006", (*path, name), f"{name}: the file {part[name]!r} cannot be used ({why})")
            return Tls()
    return found


def read_store(desk: "SettingsReader", data: Any, path: Parts) -> str:
    """The path or address of a store; empty if there is none."""
    url = desk.secret(data, path, "store")
    if not url:
        return ""
    try:
        file = file_of(url)
    except StoreUnavailable as error:
        desk.say("N006", path, str(error))
        return ""
    if file is not None and file.is_dir():
        desk.say("N006", path, f"{file}: that is a folder", "Give a path such as verdicts.db.")
    if file is None and urlsplit(url).password and url == data:
        said = "the password of the store is in this file"
        desk.say("N051", path, said, "Give `store: $TRUEUP_STORE` and set it in the environment.")
    return url


def _parts(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # unbalanced brackets, or a port that is not a number
        return None
    return parts if right and not any(sign.isspace() for sign in url) else None


def _base(path: str) -> str:
    """The path of a base URL, without the part that the gateway adds.

    >>> _base("/v1/"), _base("/v1/chat/completions"), _base("/openai/v1")
    ('', '', '/openai')
    """
    return _ENDPOINT.sub("", path.rstrip("/")).rstrip("/").removesuffix("/v1")


def _shown(parts: SplitResult) -> str:
    """An address without its user and password."""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
