"""The states of a conversation as a contract writes them: what each state forbids and allows, its tools, fallback and
hint.

Takes the `states:` mapping of a contract; returns frozen values with compiled sources. Anything that it does not
understand is refused with its key path: an unknown key, an undefined group, a pattern that the linear engine cannot
run.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from trueup.checks.fragments import Fragments
from trueup.checks.patterns import BadPattern, pattern_source, term_source
from trueup.checks.placeholders import CORRECTION, HINT, WHY, unknown_place
from trueup.checks.problems import closest
from trueup.checks.sentences import ADDRESSED, CONDITIONAL, NEGATED
from trueup.verdict.catalogue import Level

Key = str | int
Path = tuple[Key, ...]
FORMS = ("negated", "question", "conditional", "quoted", "addressed")
_CLAIM_FORMS = ("negated", "question", "conditional", "quoted")
SHARED = ("groups", "always", "claims")
SETTINGS = ("start", "names", "correction", "machine")
_STATE = ("forbid", "allow", "tools", "fallback", "hint", "next", "note")
_CONTENT = ("terms", "term", "patterns", "pattern", "timed", "groups", "group")
_GROUP = (*_CONTENT[:5], "except", "why", "hint", "note")
_RULE = (*_CONTENT, "except", "unless", "why", "hint", "level", "name", "note")
_EXCUSE = (*_CONTENT, "within", "names")
_LONGEST_WAIT = 1.0


class BadStates(ValueError):
    """The states of a contract are not written correctly; `path` leads to the mistake."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{spelled(path)}: {reason}")
        self.path = path
        self.reason = reason


def spelled(path: Path) -> str:
    """A key path as people read it.

    >>> spelled(("states", "SLOT_SELECTION", "forbid", 0, "pattern"))
    'states.SLOT_SELECTION.forbid[0].pattern'
    """
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


class Timed(NamedTuple):
    """A pattern for the backtracking engine, with the seconds it may take."""

    pattern: str
    seconds: float


class Content(NamedTuple):
    """The things to search for: terms and patterns as sources, and timed patterns."""

    terms: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    timed: tuple[Timed, ...] = ()

    def __add__(self, other: "Content") -> "Content":  # type: ignore[override]
        return Content(self.terms + other.terms, self.patterns + other.patterns, self.timed + other.timed)

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources to search for; all terms together are one source."""
        return (*(("(?:" + "|".join(self.terms) + ")",) if self.terms else ()), *self.patterns)

    @property
    def is_empty(self) -> bool:
        return not (self.terms or self.patterns or self.timed)


class Excuses(NamedTuple):
    """When a match does not count: because of other words in its sentence, its form, or names that the context gives.

    `within` has the sources of longer phrases with another meaning: a match inside one of them does not count.
    """

    content: Content = Content()
    forms: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    within: tuple[str, ...] = ()

    def __add__(self, other: "Excuses") -> "Excuses":  # type: ignore[override]
        return Excuses(
            self.content + other.content, self.forms | other.forms, self.names | other.names, self.within + other.within
        )


class SoughtPhrase(NamedTuple):
    """Something to search for, and the excuses that apply only to it."""

    content: Content
    excuses: Excuses = Excuses()


class DialogueRule(NamedTuple):
    """One thing that must not be said; each group that it names keeps its own exceptions."""

    path: Path
    name: str
    parts: tuple[SoughtPhrase, ...]
    unless: tuple[str, ...] = ()
    why: str = ""
    hint: str = ""
    level: Level = "error"
    tool: str = ""  # a claim: it counts unless this tool was called


class State(NamedTuple):
    """One state of the conversation."""

    name: str
    rules: tuple[DialogueRule, ...] = ()
    allow: Excuses = Excuses()
    tools: tuple[str, ...] | None = None
    fallback: str | None = None
    hint: str = ""
    next: tuple[str, ...] | None = None


class RuleGroup(NamedTuple):
    content: Content
    excuses: Excuses
    why: str
    hint: str


class Dialogue(NamedTuple):
    """Everything that a contract says about states."""

    states: dict[str, State]
    always: State
    claims: tuple[DialogueRule, ...]
    start: str | None
    names: tuple[str, ...]
    words: dict[str, tuple[str, ...]]
    machine: Any = None
    correction: str = ""


def read_dialogue(spec: Any, path: Path = ("states",)) -> Dialogue:
    """Read the `states:` mapping of a contract."""
    return _Reader(path).dialogue(spec)


class _Reader:
    """Reads one spec; groups are read before the rules that use them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.groups: dict[str, RuleGroup] = {}
        self.fragments = Fragments({})

    def dialogue(self, spec: Any) -> Dialogue:
        top = _mapping(spec, self.root)
        words = {"negated": NEGATED, "conditional": CONDITIONAL, "addressed": ADDRESSED}
        groups = _mapping(top.get("groups") or {}, (*self.root, "groups"))
        self.fragments = Fragments(groups)
        for name, body in groups.items():
            place = (*self.root, "groups", name)
            if name in words:  # a contract's own words for a form replace the default ones
                words[name] = tuple(_texts(_known(body, ("terms", "note"), place).get("terms"), (*place, "terms")))
            elif name in FORMS:
                raise BadStates(place, f"{name!r} is recognized by its marks; choose another name for the group")
            else:
                self.groups[name] = self._group(body, place)
        for name, group in self.groups.items():  # any other group may excuse a group
            place = (*self.root, "groups", name, "except")
            body = top["groups"][name]
            if isinstance(body, Mapping):
                self.groups[name] = group._replace(excuses=self._excuses(body.get("except"), place))
        settings = {key: top[key] for key in SETTINGS if key in top and not isinstance(top[key], Mapping)}
        names = _texts(settings.get("names", ["first_name"]), (*self.root, "names"))
        bodies = {key: body for key, body in top.items() if key not in SHARED and key not in settings}
        states = {name: self._state(name, body, (*self.root, name)) for name, body in bodies.items()}
        start = settings.get("start")
        if start is not None and not isinstance(start, str):
            raise BadStates((*self.root, "start"), f"the first state must be a name; got {start!r}")
        always = self._state("always", top.get("always") or {}, (*self.root, "always"))
        for key in ("tools", "fallback", "next"):
            if key in (top.get("always") or {}):
                raise BadStates((*self.root, "always", key), f"{key} belongs to a state, not to all of them")
        claims = tuple(self._claims(top.get("claims") or {}))
        correction = _told(settings, "correction", self.root, CORRECTION)
        return Dialogue(states, always, claims, start, names, words, settings.get("machine"), correction)

    def _group(self, body: Any, path: Path) -> RuleGroup:
        if isinstance(body, list):
            body = {"terms": body}
        fields = _known(body, _GROUP, path)
        content = self._content(fields, path)
        if content.is_empty:
            raise BadStates(path, "a group has terms or patterns")
        return RuleGroup(content, Excuses(), _told(fields, "why", path, WHY), _told(fields, "hint", path))

    def _state(self, name: Any, body: Any, path: Path) -> State:
        if not isinstance(name, str) or not name.strip():
            raise BadStates(path, f"a state has a name of letters; got {name!r}")
        fields = _known(body if body is not None else {}, _STATE, path)
        rules = [
            self._rule(item, (*path, "forbid", index))
            for index, item in enumerate(_list(fields.get("forbid"), (*path, "forbid")))
        ]
        fallback = fields.get("fallback")
        if fallback is not None and (not isinstance(fallback, str) or not fallback.strip()):
            raise BadStates((*path, "fallback"), "a fallback is a text that can be sent")
        return State(
            name,
            tuple(rules),
            self._excuses(fields.get("allow"), (*path, "allow")),
            None if fields.get("tools") is None else _texts(fields["tools"], (*path, "tools")),
            fallback,
            _told(fields, "hint", path),
            None if fields.get("next") is None else _texts(fields["next"], (*path, "next")),
        )

    def _rule(self, item: Any, path: Path) -> DialogueRule:
        if isinstance(item, str):
            item = {"group": item}
        fields = _known(item, _RULE, path)
        if self._content(fields, path).is_empty:
            raise BadStates(path, "a rule names a group, terms or patterns")
        level = fields.get("level", "error")
        if level not in ("error", "warning"):
            raise BadStates((*path, "level"), f"a level must be error or warning; got {level!r}")
        groups = [self.groups[name] for name, _ in self._group_names(fields, path)]
        named = "+".join(name for name, _ in self._group_names(fields, path))
        excuses = self._excuses(fields.get("except"), (*path, "except"))
        parts = [SoughtPhrase(group.content, excuses + group.excuses) for group in groups]
        own = self._own_content(fields, path)
        parts += [] if own.is_empty else [SoughtPhrase(own, excuses)]
        why = _told(fields, "why", path, WHY) or next((group.why for group in groups if group.why), "")
        hint = _told(fields, "hint", path) or next((group.hint for group in groups if group.hint), "")
        unless = _texts(fields.get("unless"), (*path, "unless"))
        name = _text(fields, "name", path) or named or spelled(path[1:])
        return DialogueRule(path, name, tuple(parts), unless, why, hint, level)

    def _claims(self, claims: Any) -> "list[DialogueRule]":
        """Claims: for each tool, the words that say it was used."""
        found = []
        for tool, body in _mapping(claims, (*self.root, "claims")).items():
            path = (*self.root, "claims", tool)
            if isinstance(body, str | list):
                body = {"terms": body}
            fields = _known(body, _RULE, path)
            rule = self._rule({"except": list(_CLAIM_FORMS), **fields}, path)
            found.append(rule._replace(tool=tool, name=_text(fields, "name", path) or tool))
        return found

    def _excuses(self, items: Any, path: Path) -> Excuses:
        excuses = Excuses()
        for index, item in enumerate(_list(items, path)):
            place = (*path, index)
            if isinstance(item, str) and item in FORMS:
                excuses += Excuses(forms=frozenset({item}))
                continue
            fields = _known({"group": item} if isinstance(item, str) else item, _EXCUSE, place)
            content = self._content(fields, place)
            names = frozenset(_texts(fields.get("names"), (*place, "names")))
            longer = _placed(fields.get("within"), (*place, "within"))
            within = tuple(_compiled(self._pattern, text, where) for text, where in longer)
            if content.is_empty and not names and not within:
                raise BadStates(place, f"an exception names a group, terms, patterns, within, names, or one of {', '.join(FORMS)}")  # fmt: skip
            excuses += Excuses(content, names=names, within=within)
        return excuses

    def _group_names(self, fields: Mapping[str, Any], path: Path) -> list[tuple[str, Path]]:
        places = [(name, (*path, key)) for key in ("group", "groups") for name in _texts(fields.get(key), (*path, key))]
        for name, place in places:
            if name not in self.groups:
                known = [*self.groups, *FORMS]
                raise BadStates(place, f"there is no group {name!r}{closest(name, known)}")
        return places

    def _content(self, fields: Mapping[str, Any], path: Path) -> Content:
        content = Content()
        for name, _ in self._group_names(fields, path):
            content += self.groups[name].content
        return content + self._own_content(fields, path)

    def _own_content(self, fields: Mapping[str, Any], path: Path) -> Content:
        """The terms and patterns that are written here, without those from groups."""
        terms: list[str] = []
        patterns: list[str] = []
        timed: list[Timed] = []
        seconds = _seconds(fields.get("timed"), (*path, "timed"))
        for key in ("term", "terms"):
            terms += (_compiled(term_source, text, place) for text, place in _placed(fields.get(key), (*path, key)))
        for key in ("pattern", "patterns"):
            for text, place in _placed(fields.get(key), (*path, key)):
                if seconds is None:
                    patterns.append(_compiled(self._pattern, text, place))
                else:
                    timed.append(Timed(_compiled(self.fragments.written_out, text, place), seconds))
        return Content(tuple(terms), tuple(patterns), tuple(timed))

    def _pattern(self, text: str) -> str:
        return pattern_source(self.fragments.written_out(text))


def _compiled(make: Any, text: str, path: Path) -> str:
    try:
        source: str = make(text)
    except BadPattern as error:
        shown = f"'{text}'" if text.isprintable() else repr(text)  # repr would double each backslash of a pattern
        raise BadStates(path, f"{shown} cannot be used: {error}") from None
    return source


def _seconds(value: Any, path: Path) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _LONGEST_WAIT:
        raise BadStates(path, f"timed must be the number of seconds that a pattern may take, up to 1; got {value!r}")
    return float(value)


def _mapping(value: Any, path: Path) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadStates(path, f"expected a table of names; got {value!r:.60}")
    return value


def _known(value: Any, keys: tuple[str, ...], path: Path) -> Mapping[str, Any]:
    fields = _mapping(value, path)
    for key in fields:
        if key not in keys:
            shown = ", ".join(k for k in keys if k != "note")
            raise BadStates(
                (*path, key), f"{key!r} is not known here{closest(str(key), keys) or '.'} It takes {shown}."
            )
    return fields


def _list(value: Any, path: Path) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, str | Mapping):
        return [value]
    if not isinstance(value, list | tuple):
        raise BadStates(path, f"expected a list; got {value!r:.60}")
    return list(value)


def _placed(value: Any, path: Path) -> list[tuple[str, Path]]:
    """The texts of a list, or a single text, each with its path."""
    items = _list(value, path)
    places = [path] if isinstance(value, str) else [(*path, index) for index in range(len(items))]
    for item, place in zip(items, places, strict=True):
        if not isinstance(item, str) or not item.strip():
            raise BadStates(place, f"expected a text; got {item!r}")
    return list(zip(items, places, strict=True))


def _texts(value: Any, path: Path) -> tuple[str, ...]:
    return tuple(text for text, _ in _placed(value, path))


def _text(fields: Mapping[str, Any], key: str, path: Path) -> str:
    value = fields.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadStates((*path, key), f"expected a text; got {value!r}")
    return value


def _told(fields: Mapping[str, Any], key: str, path: Path, known: tuple[str, ...] = HINT) -> str:
    """A text for the model, with placeholders."""
    text = _text(fields, key, path)
    wrong = unknown_place(text, known)
    if wrong:
        raise BadStates((*path, key), wrong)
    return text
