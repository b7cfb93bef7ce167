"""A JSON Schema as a map of places: every subschema has one address, one base URI and one validator.

Takes a checked schema; returns places, resolved references and validators of single places.
Nothing is ever fetched: a reference to another document leads nowhere.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from jsonschema_rs import Registry, Validator

Json = Any
JsonSchema = dict[str, Any] | bool

# A base for relative references; it is never fetched.
HOME = "https://trueup.invalid/schema.json"

# A schema that needs more validators than this is hostile; nothing fits the remaining places.
MAX_JUDGES = 4096

_POINTER_SAFE = "/~!$&'()*+,;=:@"

# Keywords whose values are data, not schemas.
_DATA = frozenset({"enum", "const", "default", "examples", "example"})


def _step(part: str | int) -> str:
    return "/" + str(part).replace("~", "~0").replace("/", "~1")


def _never(_: Any) -> bool:
    return False


def _forgiving(judge: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        try:
            return judge(value)
        except ValueError:
            return False

    return check


_NEAR_ROOT = 2
_OFTEN = 20  # checks of a place before it gets its own validator
Members = tuple[dict[str, "SchemaPlace"], frozenset[str], bool]


class SchemaPlace:
    """One subschema: its position in its document, and its rules."""

    __slots__ = (
        "_below",
        "_judge",
        "_looks",
        "base",
        "document",
        "flat",
        "members",
        "plain",
        "pointer",
        "rules",
        "schema",
    )

    def __init__(self, document: "SchemaDocument", pointer: str, schema: JsonSchema, base: str) -> None:
        self.document = document
        self.pointer = pointer
        self.schema = schema
        self.rules: dict[str, Any] = schema if isinstance(schema, dict) else {}
        self.base = base
        # Kinds of value that are certainly valid here; filled by `keywords`.
        self.plain: frozenset[type] | None = None
        # The same for the members of an object, with its required keys, or for the items of an array; False for neither.
        self.flat: tuple[dict[str, frozenset[type]], frozenset[str]] | frozenset[type] | bool | None = None
        # The places of its members, its required keys and whether it takes no others; False if it has other rules.
        self.members: Members | Literal[False] | None = None
        self._judge: Callable[[Any], bool] | None = None
        self._looks = 0
        self._below: dict[tuple[str | int, ...], SchemaPlace] = {}

    def child(self, *parts: str | int) -> "SchemaPlace":
        """The subschema under these keywords, keys or indexes."""
        place = self._below.get(parts)
        if place is None:
            place = self._below[parts] = self.document.below(self, parts)
        return place

    def follow(self, reference: str) -> "SchemaPlace | None":
        """The place that a `$ref` names, or None if it is outside this document."""
        return self.document.resolve(self.base, reference)

    def judged_by(self, judge: Callable[[Any], bool]) -> None:
        """Use a check that is already compiled instead of making one."""
        self._judge = judge

    @property
    def judge(self) -> Callable[[Any], bool]:
        """The compiled check of this place alone, made on first use."""
        if self._judge is None:
            self._judge = self.document.judge_at(self)
        return self._judge

    def valid(self, value: Json) -> bool:
        """True if the value fits; text that is not valid Unicode fits nothing."""
        judge = self.judge
        try:
            return judge(value)
        except ValueError:  # a lone surrogate, or a value that is not JSON
            return False

    def holds(self, value: Json, depth: int) -> bool:
        """Whether a value certainly fits. False proves nothing, because a check is compiled only for places that are often used.

        Containers are only judged near the root, at a `depth` of a few steps; judging them at every level would not be linear.
        """
        if depth > _NEAR_ROOT and (type(value) is dict or type(value) is list):
            return False
        if self._judge is None:
            self._looks += 1
            if self._looks <= _OFTEN or not self.document.has_room:
                return False
        return self.valid(value)

    def __repr__(self) -> str:
        return f"<SchemaPlace #{self.pointer}>"


class SchemaDocument:
    """A whole schema, its places and the settings that all its validators share."""

    def __init__(self, schema: JsonSchema, draft: "type[Validator]", settings: dict[str, Any]) -> None:
        self.schema = schema
        self.modern_refs = draft.__name__ not in _OLD_DRAFTS
        self._draft = draft
        self._settings = settings
        self._places: dict[str, SchemaPlace] = {}
        self._names: dict[str, str] | None = None
        self._registry: Registry | None = None
        self._judges = 0
        self._words: dict[tuple[str, str], Callable[[Any], bool]] = {}
        self.types: dict[int, frozenset[str]] = {}  # by the id of a place; filled by `survey`
        self.root = self._place("", schema, HOME)
        self.base_uri = self.root.base

    @property
    def has_room(self) -> bool:
        """Whether there is room to compile checks that only save time."""
        return self._judges < MAX_JUDGES // 2

    def _place(self, pointer: str, schema: JsonSchema, base: str) -> SchemaPlace:
        place = self._places.get(pointer)
        if place is None:
            own = _own_id(schema)
            place = SchemaPlace(self, pointer, schema, _joined(base, own) if own else base)
            self._places[pointer] = place
        return place

    def below(self, place: SchemaPlace, parts: tuple[str | int, ...]) -> SchemaPlace:
        pointer = place.pointer + "".join(map(_step, parts))
        known = self._places.get(pointer)
        if known is not None:
            return known
        schema: Any = place.schema
        for part in parts:
            schema = schema[part]
        return self._place(pointer, schema, place.base)

    def resolve(self, base: str, reference: str) -> SchemaPlace | None:
        """The place that a reference names, relative to a base URI."""
        from urllib.parse import unquote, urldefrag, urljoin  # loaded by the first schema with references

        # Joining URIs is slow, and nearly every reference stays in its own resource.
        uri, fragment = (base, reference[1:]) if reference[:1] == "#" else urldefrag(urljoin(base, reference))
        if fragment and not fragment.startswith("/"):
            pointer = self._known_names().get(f"{uri}#{fragment}")
            return None if pointer is None else self._at(pointer)
        start = "" if uri == self.base_uri else self._known_names().get(uri)
        return None if start is None else self._at(start + unquote(fragment))

    def _at(self, pointer: str) -> SchemaPlace | None:
        """The place at a pointer from the root, with the base URI of its ancestors."""
        schema: Any = self.schema
        base = self.root.base
        done = ""
        for raw in pointer.split("/")[1:]:
            part = raw.replace("~1", "/").replace("~0", "~")
            if isinstance(schema, list) and part.isdigit() and int(part) < len(schema):
                schema = schema[int(part)]
            elif isinstance(schema, dict) and part in schema:
                schema = schema[part]
            else:
                return None
            done += "/" + raw
            own = _own_id(schema)
            base = _joined(base, own) if own and done != pointer else base
        if not isinstance(schema, dict | bool):
            return None
        return self._place(pointer, schema, base)

    def _known_names(self) -> dict[str, str]:
        """The pointer of every `$id` and anchor, by its URI."""
        if self._names is None:
            self._names = dict(_names(self.schema, self.root.base))
        return self._names

    def judge_at(self, place: SchemaPlace) -> Callable[[Any], bool]:
        if place.schema is True or place.schema == {}:
            return lambda _: True
        if self._judges >= MAX_JUDGES:
            return _never
        self._judges += 1
        from urllib.parse import quote  # as above

        if self._registry is None:
            self._registry = _registry(self._draft, self.base_uri, self.schema)
        try:
            return self._draft(
                {"$ref": f"{self.base_uri}#{quote(place.pointer, safe=_POINTER_SAFE)}"},
                registry=self._registry,
                **self._settings,
            ).is_valid
        except ValueError:
            return _never

    def word(self, keyword: str, argument: Any) -> Callable[[Any], bool]:
        """The compiled check of one independent keyword, such as a pattern."""
        key = (keyword, repr(argument))
        check = self._words.get(key)
        if check is None:
            try:
                check = _forgiving(self._draft({keyword: argument}, **self._settings).is_valid)
            except ValueError:
                check = _never
            if len(self._words) < MAX_JUDGES:
                self._words[key] = check
        return check


# In these, the siblings of a `$ref` have no meaning.
_OLD_DRAFTS = frozenset({"Draft4Validator", "Draft6Validator", "Draft7Validator"})


def _registry(draft: "type[Validator]", base_uri: str, schema: JsonSchema) -> "Registry":
    import jsonschema_rs  # loaded by the first schema that is compiled

    number = getattr(jsonschema_rs, draft.__name__.removesuffix("Validator"))  # Draft7, of Draft7Validator
    return jsonschema_rs.Registry([(base_uri, schema)], draft=number)


def _joined(base: str, own: str) -> str:
    from urllib.parse import urldefrag, urljoin  # as above

    return urldefrag(urljoin(base, own))[0]


def _own_id(schema: Any) -> str | None:
    own = schema.get("$id") if isinstance(schema, dict) else None
    # In Draft 7 `"$id": "#name"` is an anchor, not a new base.
    return own if isinstance(own, str) and not own.startswith("#") else None


def _names(schema: JsonSchema, base: str) -> Iterator[tuple[str, str]]:
    from urllib.parse import urljoin  # as above

    yield base, ""
    stack: list[tuple[Any, str, str]] = [(schema, "", base)]
    while stack:
        here, pointer, base = stack.pop()
        if isinstance(here, list):
            stack.extend((item, pointer + _step(index), base) for index, item in enumerate(here))
        elif isinstance(here, dict):
            own = here.get("$id")
            if isinstance(own, str) and own.startswith("#"):
                yield urljoin(base, own), pointer
            elif isinstance(own, str):
                base = _joined(base, own)
                yield base, pointer
            for keyword in ("$anchor", "$dynamicAnchor"):
                anchor = here.get(keyword)
                if isinstance(anchor, str):
                    yield f"{base}#{anchor}", pointer
            stack.extend((item, pointer + _step(key), base) for key, item in here.items() if key not in _DATA)


def facets(places: tuple[SchemaPlace, ...]) -> list[SchemaPlace]:
    """Every place that applies to a value together with these, through `$ref` and `allOf`, each once."""
    found: list[SchemaPlace] = []
    seen: set[int] = set()
    stack = list(reversed(places))
    while stack:
        place = stack.pop()
        if id(place) in seen:
            continue
        seen.add(id(place))
        target = reference(place)
        if target is not None:
            stack.append(target)
            if not place.document.modern_refs:
                continue
        found.append(place)
        count = len(place.rules.get("allOf") or ())
        stack.extend(place.child("allOf", index) for index in reversed(range(count)))
    return found


def reference(place: SchemaPlace) -> SchemaPlace | None:
    """The place that this one's `$ref` names, if it has one inside the document."""
    rules = place.rules
    ref = rules.get("$ref") or rules.get("$dynamicRef") or rules.get("$recursiveRef")
    return place.follow(ref) if isinstance(ref, str) else None
