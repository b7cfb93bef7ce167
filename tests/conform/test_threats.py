"""X1, X7, X8, X9, X10: what a hostile value or schema does to the validator. Crashes happen in a subprocess."""

import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.growth import assert_all_linear, assert_at_most, cpu, each
from tests.shapes.conform import BY_PATTERN, UNIQUE, VALUES, fan
from tests.shapes.shape import Shape
from trueup.conform.coerce import conform
from trueup.conform.options import Options
from trueup.conform.schema import _CACHE, CACHE_SIZE, MAX_BYTES, SchemaError, compile_schema


def in_subprocess(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)


@pytest.mark.spec("X1")
@pytest.mark.parametrize("depth", [10, 200, 1000])
@pytest.mark.parametrize("shape", ["[x]", "{'k': x}"])
def test_deep_values_crash_nothing(depth: int, shape: str) -> None:
    done = in_subprocess(
        f"""
        import threading
        from trueup.conform.coerce import conform
        from trueup.conform.options import Options
        from trueup.conform.schema import compile_schema
        node = {{"$ref": "#/$defs/n"}}
        any_json = {{"anyOf": [{{"type": "integer"}}, {{"type": "array", "items": node}},
                              {{"type": "object", "additionalProperties": node}}]}}
        two_arms = {{"anyOf": [{{"type": "integer"}}, {{"type": "array", "items": node}}, {{"properties": {{"k": node}}}},
                              {{"properties": {{"k": node, "j": node}}, "required": ["k"]}}]}}
        x = "bad"
        for _ in range({depth}):
            x = {shape}
        def judge():
            for union in (any_json, two_arms):
                schema = compile_schema({{"$ref": "#/$defs/n", "$defs": {{"n": union}}}})
                schema.is_valid(x)
                conform(x, schema, Options("eager"))
                schema.errors(x)
        judge()
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
def test_deep_json_inside_a_string_is_not_read() -> None:
    text = "[" * 100_000 + "]" * 100_000
    schema = compile_schema({"type": "array", "items": {"type": "array"}})
    assert conform(text, schema, Options()) == (text, [])


@pytest.mark.spec("X1", "X10")
def test_deep_schemas_are_refused() -> None:
    deep: Any = {"type": "integer"}
    for _ in range(100_000):
        deep = {"items": deep}
    with pytest.raises(SchemaError):
        compile_schema(deep)
    shallow: Any = {"type": "integer"}
    for _ in range(90):
        shallow = {"items": shallow}
    assert compile_schema(shallow).is_valid([])


@pytest.mark.spec("X7")
def test_no_reference_is_ever_fetched(tmp_path: Path) -> None:
    hits: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        port = server.getsockname()[1]

        def listen() -> None:
            try:
                hits.append(server.accept())
            except OSError:
                return

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        secret = tmp_path / "secret.json"
        secret.write_text('{"type": "integer"}', "utf-8")
        for uri in (f"http://127.0.0.1:{port}/x.json", secret.as_uri(), "other.json", f"http://127.0.0.1:{port}/x#/a"):
            nested = {"properties": {"a": {"anyOf": [{"$ref": uri}, {"type": "null"}]}}}
            based = {"$id": f"http://127.0.0.1:{port}/s.json", "$ref": "other.json"}
            for schema in ({"$ref": uri}, nested, based, {"$dynamicRef": uri}, {"$schema": uri}):
                with pytest.raises(SchemaError):
                    compile_schema(schema)
        time.sleep(0.05)
        assert hits == []


@pytest.mark.spec("X8")
@each(BY_PATTERN)
def test_hostile_patterns_take_linear_time(shapes: list[Shape]) -> None:
    assert_all_linear(shapes)


@pytest.mark.spec("X9")
@each(UNIQUE + VALUES)
def test_large_hostile_values_take_linear_time(shapes: list[Shape]) -> None:
    assert_all_linear(shapes)


@pytest.mark.spec("X9")
def test_an_item_that_is_not_unique_is_found_among_many_objects() -> None:
    value = [{"a": i, "b": [i, str(i)]} for i in range(4000)]
    schema = compile_schema({"uniqueItems": True})
    assert schema.is_valid(value)
    assert schema.errors([*value, {"b": [7, "7"], "a": 7}])[0].data == {"first": 7, "again": 4000}


@pytest.mark.spec("X9")
@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_branching_references_are_followed_up_to_2_to_the_20_and_then_refused(keyword: str) -> None:
    schema = compile_schema(fan(keyword, 20))
    assert not schema.is_valid("x")
    # The validator's own list of errors takes more than a thousand times as long as its judgement.
    judged = max(("x", 5), key=lambda value: cpu(schema.is_valid, value))
    assert_at_most(20, lambda: schema.errors("x"), lambda: schema.is_valid(judged))
    assert_at_most(20, lambda: conform("5", schema, Options()), lambda: schema.is_valid(judged))
    assert conform("5", schema, Options())[0] == 5
    with pytest.raises(SchemaError, match="multiply"):
        compile_schema(fan(keyword, 30))


def test_the_errors_of_branching_references_are_reported_once() -> None:
    assert compile_schema(fan("allOf", 20)).errors("x")[0].message == "Value: Expected integer, got string"


@pytest.mark.spec("X9", "X10")
def test_a_long_chain_of_references_is_refused() -> None:
    defs: dict[str, Any] = {f"a{i}": {"anyOf": [{"$ref": f"#/$defs/a{i + 1}"}, {"type": "null"}]} for i in range(5000)}
    defs["a5000"] = {"type": "integer"}
    with pytest.raises(SchemaError, match="nested deeper"):
        compile_schema({"$defs": defs, "$ref": "#/$defs/a0"})


@pytest.mark.spec("X10")
def test_huge_schemas_are_refused_and_large_enums_are_quick() -> None:
    with pytest.raises(SchemaError, match="bytes long"):
        compile_schema({"enum": ["x" * MAX_BYTES]})
    few, many = (compile_schema({"enum": [f"value {i}" for i in range(count)]}) for count in (50, 50_000))
    assert conform("VALUE 49999", many, Options())[0] == "value 49999"
    assert_at_most(8, lambda: conform("VALUE 49999", many, Options()), lambda: conform("VALUE 49", few, Options()))


@pytest.mark.spec("X10")
def test_ten_thousand_schemas_do_not_fill_the_memory() -> None:
    done = in_subprocess(
        """
        import resource
        from trueup.conform.coerce import conform
        from trueup.conform.options import Options
        from trueup.conform.schema import compile_schema
        def use(i):
            props = {f"p{i}_{k}": {"type": "string", "pattern": f"^a{i}"} for k in range(3)}
            schema = compile_schema({"properties": {**props, "n": {"type": "integer"}}})
            conform({"n": "5", f"p{i}_0": 3}, schema, Options())
            schema.errors({"n": "x"})
        for i in range(1000):
            use(i)
        early = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for i in range(1000, 10_000):
            use(i)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - early)
        """
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) < 60_000, "more than 60 MB were kept"


@pytest.mark.spec("X10")
def test_the_size_of_the_cache_is_limited() -> None:
    for i in range(CACHE_SIZE + 50):
        compile_schema({"maximum": i})
    assert len(_CACHE) <= CACHE_SIZE
