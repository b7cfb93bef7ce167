"""Reads the gateway's file (YAML, TOML or JSON) into a Config, or reports every fault with file, line and column.

Keys come from the environment (`key: $OPENAI_API_KEY`) or are written in the file; contracts are files beside it. An unknown
key, a wrong kind of value or an undefined name is reported at its place; nothing is guessed.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from trueup.ask.loop.loop import Loop, Traits
from trueup.ask.policy import Policy, Price
from trueup.contract.contract import Contract
from trueup.contract.files.documents import read_document
from trueup.contract.files.faults import ContractError, Fault, Marks, fault
from trueup.gateway.config import DEFAULTS, ENDPOINTS, POLICY, Config, Limits, Logs, Route, Upstream
from trueup.gateway.file.access import base_of, read_access
from trueup.gateway.file.addressing import check_private, check_proxy, read_store, read_tls, read_url
from trueup.gateway.file.clients import read_clients, refuse_open_door
from trueup.gateway.file.fallbacks import read_fallback, read_share
from trueup.gateway.file.shadows import warn_of_shadows
from trueup.gateway.file.studio import read_studio
from trueup.gateway.passing.endpoints import GROUPS, KEPT
from trueup.store.redaction import Redaction
from trueup.store.retention import Retention
from trueup.verdict.likeness import nearest
from trueup.verdict.paths import Parts

_TOP = (
    "listen", "server", "workers", "store", "quota", "choose", "upstreams", "models", "contracts", "routes", "clients",
    "limits", "redaction", "retention", "keep_context", "telemetry", "progress", "logs", "endpoints", "studio",
)  # fmt: skip
_UPSTREAM = ("url", "protocol", "key", "private", "headers", "auth", "responses", "tls", "tenant")
_ROUTE = (
    "name",
    "models",
    "contract",
    "request",
    "upstream",
    "model",
    "share",
    "fallback",
    "policy",
    "hold",
    "state",
    "unknown_state",
    "quota",
)
MOST_WORKERS = 256
MOST_CONTEXT = 10_000_000  # the most bytes of each context that a store may be told to keep


def load_config(path: str | Path, environ: Mapping[str, str] = os.environ) -> Config:
    """The configuration in a file; raises a ContractError that names every fault."""
    config, faults = read_config(path, environ)
    errors = [found for found in faults if found.level == "error"]
    if config is None or errors:
        raise ContractError(errors)
    return config


def read_config(path: str | Path, environ: Mapping[str, str] = os.environ) -> tuple[Config | None, list[Fault]]:
    """The same for lint: the configuration, if it is usable, and all faults in the order of the file."""
    path = Path(path)
    try:
        document = read_document(path)
    except ContractError as error:
        return None, list(error.faults)
    desk = SettingsReader(document.marks, path.parent, environ, list(document.faults), path)
    config = desk.config(document.data)
    faults = sorted(desk.faults, key=lambda found: found.sort_key)
    return (None if any(found.level == "error" for found in faults) else config), faults


class SettingsReader:
    """Reads the parts of one file and collects faults."""

    def __init__(
        self, marks: Marks, folder: Path, environ: Mapping[str, str], faults: list[Fault], file: Path | None = None
    ) -> None:
        self.marks, self.folder, self.environ, self.faults, self.file = marks, folder, environ, faults, file

    def config(self, data: Any) -> Config | None:
        top = self.mapping(data, (), _TOP)
        upstreams = self.upstreams(top.get("upstreams"))
        contracts = self.contracts(top.get("contracts"))
        host, port = self.listen(top.get("listen", "127.0.0.1:8080"))
        models = self.names(top.get("models"), ("models",), upstreams, "upstream")
        routes = self.routes(top.get("routes"), upstreams, contracts)
        clients = read_clients(
            self, top.get("clients"), [route.name for route in routes], quota=top.get("quota") is True
        )
        refuse_open_door(self, top, host)
        given = {
            "store": read_store(self, top.get("store", ""), ("store",)),
            "quota": self.yes(top.get("quota", False), ("quota",)),
            "progress": self.yes(top.get("progress", False), ("progress",)),
            "telemetry": self.yes(top.get("telemetry", False), ("telemetry",)),
            "choose": self.yes(top.get("choose", True), ("choose",)),
            "endpoints": self.endpoints(top.get("endpoints"), upstreams),
            "workers": self.whole(top.get("workers", 1), ("workers",), MOST_WORKERS),
            "server": self.word(top.get("server", "uvicorn"), ("server",), ("uvicorn", "granian")),
            "limits": self.struct(top.get("limits"), ("limits",), Limits),
            "redaction": self.struct(top.get("redaction"), ("redaction",), Redaction),
            "retention": self.struct(top.get("retention"), ("retention",), Retention),
            "keep_context": self.kept(top.get("keep_context", False), ("keep_context",)),
            "logs": self.struct(top.get("logs"), ("logs",), Logs),
            "studio": read_studio(self, top.get("studio"), clients, routes),
        }
        if not given["store"]:
            charging = [("routes", at, "quota") for at, route in enumerate(routes) if route.quota]
            for place in ([("quota",)] if given["quota"] else []) + charging:
                self.say("N006", place, "quota needs a store", "Give `store: verdicts.db` or `store: postgresql://…`.")
        if any(found.level == "error" for found in self.faults):
            return None
        return Config(upstreams, routes, contracts, models, clients, host=host, port=port, **given)

    def upstreams(self, data: Any) -> dict[str, Upstream]:
        path: Parts = ("upstreams",)
        if not isinstance(data, dict) or not data:
            self.say("N006", path, "upstreams names at least one provider: `upstreams: {openai: {url: https://…}}`")
            return {}
        found = {}
        for name, each in data.items():
            here = (*path, name)
            part = self.mapping(each, here, _UPSTREAM)
            key = self.sent(part.get("key", ""), (*here, "key"), "key")
            access = read_access(self, part.get("auth"), (*here, "auth"), key, (*here, "key"))
            url = read_url(self, part.get("url") or base_of(access) or None, (*here, "url"))
            if access is not None and access.kind == "azure":
                url = url.removesuffix("/openai")  # which the paths contain
            if access is not None and access.kind == "azure" and part.get("protocol") == "anthropic":
                said = "azure does not support Anthropic's protocol here"
                self.say("N006", (*here, "protocol"), said, "Leave `protocol` out.")
            headers = self.mapping(part.get("headers", {}), (*here, "headers"), None)
            private = self.yes(part.get("private", False), (*here, "private"))
            check_private(self, url, (*here, "url"), private=private)
            check_proxy(self, url, (*here, "url"))
            found[name] = Upstream(
                name, url, self.word(part.get("protocol", "openai"), (*here, "protocol"), ("openai", "anthropic")),  # type: ignore[arg-type]
                "" if access is not None else key, private,
                {key: self.sent(value, (*here, "headers", key), "header") for key, value in headers.items()},
                access, self.yes(part.get("responses", access is None or access.kind == "azure"), (*here, "responses")),
                self.text(part.get("tenant", ""), (*here, "tenant")),
                read_tls(self, part.get("tls"), (*here, "tls")),
            )  # fmt: skip
        return found

    def endpoints(self, data: Any, upstreams: dict[str, Upstream]) -> tuple[str, ...]:
        """The endpoints that are turned on; objects that an upstream keeps must belong to a tenant."""
        if data is None:
            return ENDPOINTS
        found = []
        for at, each in enumerate(self.items(data, ("endpoints",))):
            name = self.word(each, ("endpoints", at), GROUPS)
            found.append(name)
            if name in KEPT and each == name and not any(upstream.tenant for upstream in upstreams.values()):
                said = f"{name} of all tenants are kept under one key of an upstream; say which tenant may see them"
                self.say(
                    "N006", ("endpoints", at), said, "Give an upstream `tenant: NAME`, or `tenant: '*'` if all may."
                )
        return tuple(dict.fromkeys(found))

    def contracts(self, data: Any) -> dict[str, Contract]:
        found = {}
        for name, each in self.mapping(data or {}, ("contracts",), None).items():
            file = self.text(each, ("contracts", name), needed=True)
            if not file:
                continue
            try:
                contract = Contract.load(self.folder / file)
            except ContractError as error:
                self.say("N021", ("contracts", name), f"the contract {file!r} cannot be used")
                self.faults += error.faults
                continue
            contract.name = contract.name or name
            found[name] = contract
        return found

    def routes(self, data: Any, upstreams: dict[str, Upstream], contracts: dict[str, Contract]) -> tuple[Route, ...]:
        found: list[Route] = []
        for at, each in enumerate(self.items(data, ("routes",))):
            here: Parts = ("routes", at)
            part = self.mapping(each, here, _ROUTE)
            name = self.text(part.get("name", f"route-{at + 1}"), (*here, "name"))
            if name in {"v1", "healthz", "readyz", "metrics"} or "/" in name:
                self.say("N006", (*here, "name"), f"a route cannot be called {name!r} here", "Give it another name.")
            if name in {earlier.name for earlier in found}:
                self.say("N006", (*here, "name"), f"another route is called {name!r}", "Give each its own name.")
            models = part.get("models", ())
            if isinstance(each, dict) and not models and "name" not in part:
                said = "a route is found by its models or by its name; this one has neither"
                self.say("N006", here, said, "Give `models: ['*']`, or `name: NAME` for /NAME/v1.")
            patterns = [models] if isinstance(models, str) else self.items(models, (*here, "models"))
            contract = self.one_of(part.get("contract"), (*here, "contract"), contracts, "contract")
            upstream = self.one_of(part.get("upstream"), (*here, "upstream"), upstreams, "upstream")
            policy = self.policy(part.get("policy"), (*here, "policy"))
            state = self.state(part.get("state", ""), (*here, "state"), contracts.get(contract or ""))
            self.fits(contracts.get(contract or ""), policy, (*here, "policy"), state)
            found.append(Route(
                name, tuple(self.text(p, (*here, "models")) for p in patterns), None if contract is None else contracts[contract],
                upstream or "", policy,
                self.word(part.get("hold", "auto"), (*here, "hold"), ("auto", "sentence", "field", "whole")),  # type: ignore[arg-type]
                state=state, request=self.request(part.get("request"), (*here, "request"), contracts, state),
                unknown_state=self.word(part.get("unknown_state", "fallback"), (*here, "unknown_state"), ("fallback", "refuse")),  # type: ignore[arg-type]
                quota=None if part.get("quota") is None else self.yes(part["quota"], (*here, "quota")),
                model=self.text(part.get("model", ""), (*here, "model")),
                share=read_share(self, part.get("share"), (*here, "share")),
                fallback=read_fallback(self, part, here, upstreams),
            ))  # fmt: skip
            warn_of_shadows(self, found, here)
        return tuple(found)

    def request(self, data: Any, path: Parts, contracts: dict[str, Contract], state: str) -> Contract | None:
        """The request contract of a route; it must be judged in some state, whatever a client says."""
        name = self.one_of(data, path, contracts, "contract")
        contract = contracts.get(name or "")
        if contract is not None and contract.unplaced({}) and (not state or contract.unplaced({"state": state})):
            said = f"the contract {name!r} judges requests, but has no start state for those that name none"
            self.say("N018", path, said, "Give it `start: STATE`.")
        return contract

    def state(self, data: Any, path: Parts, contract: Contract | None) -> str:
        """The state of a route, which its contract must define."""
        name = self.text(data, path)
        if name and contract is not None:
            for found in contract.unplaced({"state": name}):
                self.say("N018", path, found.message, found.hint)
        return name

    def fits(self, contract: Contract | None, policy: Policy, path: Parts, state: str) -> None:
        """Report a fallback that breaks the contract now, not when it is needed."""
        if contract is None or policy.fallback is None:
            return
        try:
            Loop(contract, Traits(), "?", policy, context={"state": state} if state else {})  # type: ignore[arg-type]  # frozen
        except ValueError as error:
            self.say("N017", (*path, "fallback"), str(error))

    def policy(self, data: Any, path: Parts) -> Policy:
        if data is None:
            return POLICY
        known = Policy.__struct_fields__
        part = {name: value for name, value in self.mapping(data, path, known).items() if name in known}
        models = part.get("models")
        if isinstance(models, list) and not all(isinstance(model, str) and model for model in models):
            self.say("N006", (*path, "models"), "models must be a list of names")
            return POLICY
        try:
            if "prices" in part:
                part["prices"] = msgspec.convert(part["prices"], dict[str, Price])
            return Policy(**{**DEFAULTS, **part})
        except (TypeError, ValueError) as error:
            name = str(error).partition(" ")[0]  # a fault of one setting begins with its name
            self.say("N006", (*path, name) if name in part else path, str(error))
            return POLICY

    # -- values of one kind ----------------------------------------------------------------

    def say(self, code: str, path: Parts, message: str, hint: str = "") -> None:
        self.faults.append(fault(code, self.marks.key(path), path, message, hint))

    def mapping(self, data: Any, path: Parts, known: tuple[str, ...] | None) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.say("N006", path, f"{_called(path)} must be a mapping of names to values")
            return {}
        for name in data:
            if known is not None and name not in known:
                self.say("N005", (*path, name), f"unknown key {name!r}", _nearest(name, known))
        return data

    def items(self, data: Any, path: Parts) -> list[Any]:
        if data is None:
            return []
        if not isinstance(data, list | tuple):
            self.say("N006", path, f"{path[-1]} must be a list")
            return []
        return list(data)

    def text(self, data: Any, path: Parts, *, needed: bool = False) -> str:
        if isinstance(data, str) and (data or not needed):
            return data
        said = "is missing" if data is None else "is a text"
        self.say("N006", path, f"{path[-1]} {said}")
        return ""

    def secret(self, data: Any, path: Parts, what: str, *, needed: bool = False) -> str:
        """A string, or the value of an environment variable; no message contains the value itself."""
        text = self.text(data, path, needed=needed)
        if not text.startswith("$"):
            return text
        value = self.environ.get(text[1:].strip("{}"), "")
        if not value:
            self.say("N006", path, f"the {what} is in {text}, which is not set", "Set it in the environment.")
        return value

    def sent(self, data: Any, path: Parts, what: str) -> str:
        """A string or a variable's value, like `secret`, that is sent as a header: one line of plain characters."""
        text = self.secret(data, path, what)
        if not text.isascii() or not text.isprintable():
            said = f"the {what} contains a line break, or another character that headers cannot contain"
            self.say("N006", path, said, "Is there a line break after it?" if text.strip().isprintable() else "")
        return text

    def yes(self, data: Any, path: Parts) -> bool:
        if not isinstance(data, bool):
            self.say("N006", path, f"{path[-1]} is true or false")
        return data is True

    def whole(self, data: Any, path: Parts, most: int) -> int:
        if type(data) is not int or not 1 <= data <= most:
            self.say("N006", path, f"{path[-1]} must be a whole number, from 1 to {most}")
            return 1
        return data

    def word(self, data: Any, path: Parts, known: tuple[str, ...]) -> str:
        if data not in known:
            near = nearest(data, known) if isinstance(data, str) else None
            said = f"{_called(path)} must be one of {', '.join(known)}; got {data!r}"
            self.say("N006", path, said, f"Did you mean {near!r}?" if near else "")
            return known[0]
        return str(data)

    def one_of(self, data: Any, path: Parts, known: Mapping[str, Any], what: str) -> str | None:
        if data is None:
            return None
        if not isinstance(data, str) or data not in known:
            self.say("N006", path, f"there is no {what} {data!r} in this file", _nearest(str(data), tuple(known)))
            return None
        return str(data)

    def names(self, data: Any, path: Parts, known: Mapping[str, Any], what: str) -> dict[str, str]:
        rows = self.mapping({} if data is None else data, path, None)
        return {name: self.one_of(each or "", (*path, name), known, what) or "" for name, each in rows.items()}

    def struct(self, data: Any, path: Parts, kind: Any) -> Any:
        if data is None:
            return kind()
        kinds = get_type_hints(kind)
        part = self.mapping(data, path, kind.__struct_fields__)
        good = {}
        for name in part.keys() & kinds.keys():
            said = _wrong(name, part[name], kinds[name], kind)
            if said:
                self.say("N006", (*path, name), said)
            else:
                good[name] = part[name]
        return msgspec.convert(good, kind)

    def kept(self, data: Any, path: Parts) -> bool | int:
        """Whether contexts are stored, or how many bytes of each."""
        if isinstance(data, int) and 0 <= data <= MOST_CONTEXT:
            return data
        said = f"keep_context must be true, false or a number of bytes up to {MOST_CONTEXT:,}; got {data!r}"
        self.say("N006", path, said, "Give `keep_context: true` to store up to 32 KB of each context.")
        return False

    def listen(self, data: Any) -> tuple[str, int]:
        host, _, port = str(data).rpartition(":")
        if not (port.isascii() and port.isdigit()) or int(port) > 65_535:
            self.say("N006", ("listen",), f"listen must be an address and a port, such as 127.0.0.1:8080; got {data!r}")
            return "127.0.0.1", 8080
        return host.strip("[]") or "127.0.0.1", int(port)


def _called(path: Parts) -> str:
    """How a message calls the value at a path."""
    if not path:
        return "the file"
    return path[-1] if isinstance(path[-1], str) else f"each of {path[-2]}"


def _wrong(name: str, value: Any, hint: Any, kind: Any) -> str:
    """Why a setting of a struct cannot have this value; empty if it can."""
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError:
        return f"{name} must be {_described(hint)}; got {value!r}"
    try:
        msgspec.convert({name: value}, kind)
    except ValueError as error:
        return str(error)
    return ""


def _described(hint: Any) -> str:
    """The kind of value that a type means, in words."""
    if get_origin(hint) is Literal:
        return f"one of {', '.join(get_args(hint))}"
    if get_origin(hint) is tuple:
        return "a list of texts"
    if get_args(hint):
        return " or ".join(map(_described, get_args(hint)))
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}.get(hint, "null")


def _nearest(name: str, known: tuple[str, ...]) -> str:
    near = nearest(name, known)
    return f"Did you mean {near!r}?" if near else f"Known here: {', '.join(known)}." if known else ""
