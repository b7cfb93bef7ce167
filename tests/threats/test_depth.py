"""X1: nesting of any depth, through every way into the engine, in a separate process: a finding, never a signal."""

import subprocess
import sys
import textwrap

import pytest

# How a level opens and closes, and the greatest depth tried: the last two are long and read by the slowest ways.
SHAPES = {
    "lists": ("[", "]", 1_000_000),
    "objects": ('{"k":', "}", 1_000_000),
    "both": ('[{"k":', "}]", 1_000_000),
    "single quotes": ("{'k':", "}", 1_000_000),
    "calls": ("f(k=", ")", 1_000_000),
    "tuples": ("(", ")", 1_000_000),
    "wide": ("［", "］", 1_000_000),
    "escaped": ('{\\"k\\":', "}", 50_000),
    "elements": ("<k>", "</k>", 100_000),
}


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.spec("X1")
@pytest.mark.parametrize("depth", [10, 200, 1_000_000])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_depth_crashes_a_check(shape: str, depth: int) -> None:
    opener, closer, deepest = SHAPES[shape]
    depth = min(depth, deepest)
    done = run(
        f"""
        import threading
        from trueup import Contract

        node = {{"$ref": "#/$defs/n"}}
        recursive = {{
            "$defs": {{"n": {{"anyOf": [
                {{"type": ["integer", "string", "null"]}},
                {{"type": "array", "items": node}},
                {{"type": "object", "properties": {{"k": node}}}},
            ]}}}},
            "$ref": "#/$defs/n",
        }}
        opener, closer, depth = {opener!r}, {closer!r}, {depth}
        texts = [opener * depth + "1" + closer * depth, opener * depth, opener * depth + '"x', "x " + opener * depth + closer]
        contracts = [Contract(True), Contract(recursive), Contract(recursive, accept="lossy", coerce="eager")]

        def judge():
            for text in texts:
                for contract in contracts:
                    verdict = contract.check(text)
                    assert verdict.to_dict()
                    if depth > 500 and verdict.data is not None:
                        assert len(repr(verdict.data)) < 3 * len(text) + 100
                stream = contracts[1].stream()
                for at in range(0, len(text), 100_000):
                    stream.feed(text[at:at + 100_000])
                assert stream.finish().to_dict()

        threading.stack_size(512 * 1024)  # as little as a thread of a server has on some systems
        thread = threading.Thread(target=judge)
        thread.start()
        thread.join()
        print("alive")
        """
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "alive\n"
    assert not done.stderr


@pytest.mark.spec("X1")
@pytest.mark.parametrize("depth", [501, 50_000, 1_000_000])
@pytest.mark.parametrize("shape", ["lists", "objects", "both"])
def test_nesting_that_is_too_deep_is_a_finding(shape: str, depth: int) -> None:
    opener, closer, _ = SHAPES[shape]
    done = run(
        f"""
        from trueup import Contract
        text = {opener!r} * {depth} + "1" + {closer!r} * {depth}
        for around in ("%s", "Here: %s", "%s,", "```json\\n%s\\n```"):
            verdict = Contract(True).check(around % text)
            assert [found.code for found in verdict.findings] == ["L002"], (around, verdict)
            assert verdict.data is None
        print("alive")
        """
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "alive\n"


@pytest.mark.spec("X1")
def test_deep_values_can_be_reported_and_compared() -> None:
    done = run(
        """
        import json
        from trueup import Contract, Verdict
        text = "[" * 500 + "]" * 500
        verdict = Contract(True).check(text + ",")
        assert verdict.ok, verdict.findings
        assert Verdict.from_dict(json.loads(json.dumps(verdict.to_dict()))) == verdict
        assert repr(verdict)
        print("alive")
        """
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "alive\n"
