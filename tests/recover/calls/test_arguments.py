"""Arguments of calls in Python's notation: the end and the value of each, and when these are unclear."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import Contract
from trueup.recover.calls.arguments import Arguments

CONTRACT = Contract(
    tools=[
        {
            "name": "bash",
            "parameters": {
                "type": "object",
                "properties": {
                    "command": {"type": "string"},
                    "timeout": {"type": "integer"},
                    "env": {"type": "object"},
                    "files": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["command"],
            },
        },
        {"name": "now"},
    ]
)

READ: list[tuple[str, dict[str, Any]]] = [
    ("a=1, b='x', c=None, d=True", {"a": 1, "b": "x", "c": None, "d": True}),
    ("a = 1 , b = 'x' ,", {"a": 1, "b": "x"}),
    ("\n    a=1,\n    b='x',\n", {"a": 1, "b": "x"}),
    ("a: 1, b: 'x'", {"a": 1, "b": "x"}),
    ('"a": 1, "b": "x"', {"a": 1, "b": "x"}),
    ("**{'a': 1}, b=2", {"a": 1, "b": 2}),
    ("user-id=5", {"user-id": 5}),
    # quotes
    ("a='it\\'s'", {"a": "it's"}),
    ("a='it's', b=2", {"a": "it's", "b": 2}),
    ("a='Martha's Vineyard'", {"a": "Martha's Vineyard"}),
    ("a='grep 'x' f'", {"a": "grep 'x' f"}),
    ("a='grep 'x' f', b='y'", {"a": "grep 'x' f", "b": "y"}),
    ('a="say "hi" now"', {"a": 'say "hi" now'}),
    ("a='echo $(date '+%s') now'", {"a": "echo $(date '+%s') now"}),
    ("a='echo $(date '+%s')'", {"a": "echo $(date '+%s')"}),
    ("a='grep '' f'", {"a": "grep '' f"}),
    ("a='O''Brien'", {"a": "O''Brien"}),
    ('a="a 24" screen"', {"a": 'a 24" screen'}),
    ("a='x, b=2'", {"a": "x, b=2"}),
    ("a='''x 'y' \"z\"'''", {"a": "x 'y' \"z\""}),
    ("a=r'\\d+'", {"a": "\\d+"}),
    ("a='\\u00e9\\x41\\t'", {"a": "éA\t"}),
    ("a='one '\n  'two'", {"a": "one two"}),
    ("a='line 1\nline 2'", {"a": "line 1\nline 2"}),
    ("a=f'plain'", {"a": "plain"}),
    ("a=“Oslo”, b=‘x’", {"a": "Oslo", "b": "x"}),
    ("a=`ls -l`", {"a": "ls -l"}),
    # without quotes
    ("a=Oslo", {"a": "Oslo"}),
    ("a=Los Angeles, CA, b=5", {"a": "Los Angeles, CA", "b": 5}),
    ("a=Los Angeles, CA", {"a": "Los Angeles, CA"}),
    ("a=sin(x)*2, b=0", {"a": "sin(x)*2", "b": 0}),
    ("a=(x + 1) * 2", {"a": "(x + 1) * 2"}),
    ("a=x if y == 'a, b=c)' else z", {"a": "x if y == 'a, b=c)' else z"}),
    ("a=lambda x: x**2, b=1", {"a": "lambda x: x**2", "b": 1}),
    ("a=https://x.org/?q=1&r=2, b=1", {"a": "https://x.org/?q=1&r=2", "b": 1}),
    ("a=10/11", {"a": "10/11"}),
    ("a=2024-01-05", {"a": "2024-01-05"}),
    ("a=It's here, b=1", {"a": "It's here", "b": 1}),
    ("a=x == y", {"a": "x == y"}),
    ("a=Point(1, 2)", {"a": "Point(1, 2)"}),
    # containers
    ("a=['x', \"y\"], b={'k': (1, 2), 'n': None}", {"a": ["x", "y"], "b": {"k": [1, 2], "n": None}}),
    ("a=[x, y], b=1", {"a": ["x", "y"], "b": 1}),
    ("a=['it's', 'b']", {"a": ["it's", "b"]}),
    ("a={}, b=[]", {"a": {}, "b": []}),
    # numbers
    ("a=1_000, b=0x1F, c=.5, d=-2e3", {"a": 1000, "b": 31, "c": 0.5, "d": -2000.0}),
]


@pytest.mark.spec("T2", "T5")
@pytest.mark.parametrize(("inside", "named"), READ)
def test_arguments_end_before_the_next_name_or_the_end(inside: str, named: dict[str, Any]) -> None:
    given = Arguments(f"f({inside})", 2, 50)
    assert (given.named, given.by_place, given.fault, given.cut) == (named, [], "", False)
    assert given.stop == len(inside) + 3
    behind = Arguments(f"['f({inside})', 'g()']", 4, 50, quoted=True)
    assert (behind.named, behind.stop) == (named, len(inside) + 5)


@pytest.mark.spec("T2")
@pytest.mark.parametrize(
    ("inside", "by_place"),
    [
        ("'Oslo', 3", ["Oslo", 3]),
        ("Oslo, 3", ["Oslo", 3]),
        ("'it's', 'b'", ["it's", "b"]),
        ("[1, 2], {'a': 1}", [[1, 2], {"a": 1}]),
        ("x, y", ["x", "y"]),
    ],
)
def test_arguments_may_be_positional(inside: str, by_place: list[Any]) -> None:
    assert Arguments(f"f({inside})", 2, 50).by_place == by_place


@pytest.mark.spec("T2", "T4")
@pytest.mark.parametrize(
    ("inside", "why"),
    [
        ("command='grep 'x' f", "quotes of argument 'command'"),
        ("command='echo (a') b'", "quotes of argument 'command'"),
        ("command='echo 'a', timeout=5 b', timeout=3", "quotes of argument 'command'"),
        ("command='echo 'a', timeout='5''", "quotes of argument 'command'"),
        ("command='Dogs' life', timeout=3", "quotes of argument 'command'"),
        ("command='')', timeout=3", "quotes of argument 'command'"),
        ("command='a' 'b'", "quotes of argument 'command'"),
        ('command="ls" timeout=3', "quotes of argument 'command'"),
        ("command='ls', 5", "quotes of argument 'command'"),
        ("command=rock 'n roll", "quotes of argument 'command'"),
        ("'echo 'a' b, 'c'", "quotes of argument 1"),
        ("command='ls', command='rm'", "argument 'command' is given twice"),
        ("command=f'rm {path}'", "argument 'command' is a template"),
        ("command=ls\nrm -rf x", "argument 'command' runs over several lines"),
        ("command=ls], timeout=3", "bracket of argument 'command'"),
        ("command=<command>", "argument 'command' is a placeholder"),
        ("command=now()", "argument 'command' is the result of another call; call now first"),
        ("command='ls', timeout=bash(command='x')", "argument 'timeout' is the result of another call"),
    ],
)
@pytest.mark.parametrize("frame", ["bash({})", "[bash({})]", "<tool_call>bash({})</tool_call>"])
def test_ambiguous_calls_are_refused_and_never_run(inside: str, why: str, frame: str) -> None:
    verdict = CONTRACT.check(frame.format(inside))
    assert verdict.calls == ()
    assert [refusal.call.name for refusal in verdict.refused] == ["bash"]
    assert {f.code for f in verdict.errors} <= {"T003", "T006"}
    if "T003" in {f.code for f in verdict.errors}:
        assert why in verdict.errors[0].message


@pytest.mark.spec("T2")
@pytest.mark.parametrize(
    "between", [" → then\n", " then ", " — ", " | ", " and\n", "**\n**", " // x\n", " & ", " 'x' "]
)
@pytest.mark.parametrize("frame", ["{}", "<tool_call>{}</tool_call>", "[{}]", "Action: {}"])
def test_a_string_never_includes_the_next_call(between: str, frame: str) -> None:
    verdict = CONTRACT.check(frame.format(f"bash(command='a'){between}bash(command='b', timeout=3)"))
    for call in verdict.calls:
        assert call.args in ({"command": "a"}, {"command": "b", "timeout": 3})


@pytest.mark.spec("T5")
@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("bash(command=1.10)", "1.10"),
        ("bash(command=007)", "007"),
        ("bash(command=1e3)", "1e3"),
        ("bash(command=True)", "True"),
        ("bash(1.10)", "1.10"),
        ("bash(command=10/11)", "10/11"),
        ("bash(command='1.10')", "1.10"),
    ],
)
def test_text_without_quotes_stays_as_it_is_written(text: str, command: str) -> None:
    assert CONTRACT.check(text).calls[0].args == {"command": command}


@pytest.mark.spec("T2")
def test_each_tolerance_is_a_graded_fix_with_its_position() -> None:
    verdict = CONTRACT.check("bash(command='grep 'x' f', timeout=3)")
    assert [(fix.code, fix.path) for fix in verdict.fixes] == [
        ("K001", "$.calls[0]"),
        ("S012", "$.calls[0].args.command"),
    ]
    bare = CONTRACT.check("bash(command=ls -l, timeout=3)")
    assert [(fix.code, fix.path) for fix in bare.fixes] == [("K001", "$.calls[0]"), ("S015", "$.calls[0].args.command")]


@pytest.mark.parametrize("stop", range(2, 34))
def test_a_truncated_call_is_reported(stop: int) -> None:
    text = "f(a='x', b=[1, {'k': 2}], c=words)"[:stop]
    assert Arguments(text, 2, 50).cut


@given(st.text("f(a=1, b'\"\\x)]}{[c:\n ", max_size=30))
def test_no_text_raises(text: str) -> None:
    given = Arguments(text, 0, 50)
    assert given.stop <= len(text)
