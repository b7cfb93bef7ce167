"""Expressions generated from the grammar of the language, as text, with records on which they may be evaluated."""

from typing import Any

from hypothesis import strategies as st

RECORDS = st.fixed_dictionaries(
    {
        "a": st.one_of(st.integers(-5, 5), st.floats(-4, 4, allow_nan=False), st.booleans(), st.none()),
        "b": st.one_of(st.integers(0, 9), st.text("abAB ,", max_size=5)),
        "t": st.text("aAbB 1,é", max_size=8),
        "xs": st.lists(st.integers(-3, 9), max_size=5),
        "ts": st.lists(st.text("ab,", max_size=3), max_size=4),
        "d": st.dictionaries(st.sampled_from(["a", "b", "arm", "leg"]), st.integers(-1, 4), max_size=4),
        "rows": st.lists(
            st.fixed_dictionaries({"p": st.integers(0, 4), "q": st.integers(-1, 4), "n": st.text("ab", max_size=3)}),
            max_size=4,
        ),
        "max": st.integers(0, 3),
        "len": st.text("x", max_size=2),
        "_x": st.integers(0, 3),
    }
)
FIELDS = ("a", "b", "t", "xs", "ts", "d", "rows", "max", "len", "_x")
# In a place of the record, and in an iteration of a loop.
LOCALS = ("v", "w")

_numbers = st.sampled_from(["0", "1", "2", "3", "7", "0.5", "-1", "2.0", "True", "False", "None"])
_texts = st.sampled_from(["''", "'a'", "'ab'", "','", "'arm'", "'1'", "'é'"])
_atoms = st.one_of(_numbers, _texts, st.sampled_from(FIELDS), st.sampled_from(FIELDS))
_binary = st.sampled_from(["+", "-", "*", "/", "//", "%", "&", "|", "^", ">>", "<<"])
_compare = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in"])
_of_one = st.sampled_from(
    "len bool abs int float str round sum any all min max sorted list tuple set reversed enumerate floor ceil".split()
)
_methods = st.sampled_from(
    [
        ".lower()", ".upper()", ".strip()", ".split(',')", ".split()", ".title()", ".startswith('a')", ".endswith('b')",
        ".count('a')", ".find('b')", ".replace('a', 'bb')", ".zfill(4)", ".center(5)", ".isdigit()", ".values()",
        ".keys()", ".items()", ".get('arm')", ".get('arm', 0)", ".index(1)", ".removeprefix('a')", ".partition(',')",
        ".union([1])", ".issubset([1, 2])", ".ljust(3, '-')", ".isalpha()", ".casefold()", ".splitlines()",
    ]
)  # fmt: skip


def _loops(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    name = st.sampled_from(LOCALS)
    inside = st.one_of(
        inner, name, st.builds("{} {} {}".format, name, _compare, inner), st.builds("{}[0]".format, name)
    )
    clause = st.builds("for {} in {}".format, name, inner)
    tests = st.one_of(st.just(""), st.builds(" if {}".format, inside))
    more = st.one_of(st.just(""), st.just(""), st.builds(" {}".format, clause))
    tail = st.builds("{}{}{}".format, clause, more, tests)
    return st.one_of(
        st.builds("[{} {}]".format, inside, tail),
        st.builds("{{{} {}}}".format, inside, tail),
        st.builds("{{{}: {} {}}}".format, inside, inside, tail),
        st.builds("{}({} {})".format, st.sampled_from(["any", "all", "sum", "list", "sorted", "max"]), inside, tail),
        st.builds("','.join(str({}) {})".format, inside, tail),
        st.builds("[v.{} for v in rows]".format, st.sampled_from("pqn")).map(
            lambda x: x.replace(".", "['").replace(" for", "'] for", 1)
        ),
    )


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {} {})".format, inner, _binary, inner),
        st.builds("({} ** {})".format, inner, st.sampled_from(["0", "1", "2", "3", "0.5"])),
        st.builds("({} {} {})".format, inner, _compare, inner),
        st.builds("({} {} {} {} {})".format, inner, _compare, inner, _compare, inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner),
        st.builds("(not {})".format, inner),
        st.builds("(-{})".format, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("({} is None)".format, inner),
        st.builds("{}({})".format, _of_one, inner),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max", "round", "zip", "sum"]), inner, inner),
        st.builds("range({})".format, st.sampled_from(["0", "3", "len(xs)", "a", "1, 5", "5, 0, -2"])),
        st.builds("({}){}".format, inner, _methods),
        st.builds("({})[{}]".format, inner, st.sampled_from(["0", "-1", "'arm'", "1:", ":2", "::-1", "a"])),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("({}, {})".format, inner, inner),
        st.builds("{{{}, 1}}".format, inner),
        st.builds("{{'k': {}}}".format, inner),
        _loops(inner),
        _loops(inner),
    )


EXPRESSIONS: st.SearchStrategy[str] = st.recursive(_atoms, _grown, max_leaves=8)


def plain(value: Any) -> Any:
    """A value in a form that can be compared: lazy iterables of Python are lists in the language."""
    if isinstance(value, range | enumerate | zip | reversed) or type(value) in (
        type({}.values()),
        type({}.keys()),
        type({}.items()),
    ):
        return ("list", [plain(one) for one in value])
    if isinstance(value, list):
        return ("list", [plain(one) for one in value])
    if isinstance(value, tuple):
        return ("tuple", [plain(one) for one in value])
    if isinstance(value, set):
        return ("set", sorted(map(repr, value)))
    if isinstance(value, dict):
        return ("dict", [(plain(key), plain(one)) for key, one in value.items()])
    return (type(value).__name__, repr(value))
