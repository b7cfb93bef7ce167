"""An import and a first check load only the modules that they need. Modules are counted, not milliseconds."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import trueup

SRC = Path(trueup.__file__).parent
JUDGING = ("verdict", "conform", "recover", "contract", "checks", "expressions", "read")
ROOMS_ABOVE = {"ask", "batch", "cli", "gateway", "measure", "store", "testing", "tui", "watch"}
# A simple schema, and a reply with a syntax fault and a type fault.
FIRST_CHECK = """Contract({"properties": {"a": {"type": "integer"}}}).check('{"a": "3",}').unwrap()"""


def loaded_by(code: str, after: str = "") -> set[str]:
    """The modules that `code` adds to those that `after` has loaded, in a separate interpreter."""
    lines = ["import sys", after, "before = set(sys.modules)", code, "print(*(set(sys.modules) - before))"]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def own(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "trueup"}


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = loaded_by("import trueup")
    assert own(loaded) == {"trueup"}
    assert not {"msgspec", "orjson", "jsonschema_rs", "rapidfuzz", "click", "rich", "pydantic"} & loaded


def test_importing_the_contract_loads_two_libraries_and_next_to_nothing_else() -> None:
    loaded = loaded_by("from trueup import Contract", after="import msgspec, orjson")
    assert loaded - own(loaded) <= {"threading", "_weakrefset"}
    rooms = {name.split(".")[1] for name in own(loaded) if "." in name}
    assert rooms == {"conform", "contract", "recover", "verdict"}
    assert "trueup.contract.judging.judge" not in loaded, "what mends is loaded where there is something to mend"


def test_a_first_broken_check_loads_one_library_and_no_more_than_its_fault_needs() -> None:
    loaded = loaded_by(FIRST_CHECK, after="import jsonschema_rs\nfrom trueup import Contract")
    assert loaded - own(loaded) <= {"bisect", "_bisect"}
    assert not {name for name in own(loaded) if name.split(".")[1] in ROOMS_ABOVE}
    # neither the tolerant parser nor the modules for prose, phrases and marks
    assert not {"trueup.recover.json.parser", "trueup.recover.readings", "trueup.recover.marks"} & loaded


def test_a_clean_check_loads_nothing_that_mends() -> None:
    loaded = loaded_by("Contract(True).check('[1]')", after="import jsonschema_rs\nfrom trueup import Contract")
    assert not loaded


def test_an_import_compiles_no_regular_expression() -> None:
    counted = """
import re._compiler, sys
compiled = []
real = re._compiler.compile
def compile(pattern, flags=0):
    frame = sys._getframe(1)
    while frame.f_globals["__name__"].partition(".")[0] == "re":
        frame = frame.f_back
    compiled.append((frame.f_globals["__name__"], pattern))
    return real(pattern, flags)
re._compiler.compile = compile
import trueup.contract.calls, trueup.contract.judging.judge, trueup.recover.readings
print([row for row in compiled if row[0].startswith("trueup")])
"""
    done = subprocess.run([sys.executable, "-c", counted], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def compiled_at_import(node: ast.AST) -> Iterator[int]:
    """The lines outside functions that call `re.compile`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.Call) and ast.unparse(child.func) == "re.compile":
            yield child.lineno
        yield from compiled_at_import(child)


def test_a_pattern_that_a_judging_module_keeps_is_lazy() -> None:
    files = [path for room in JUDGING for path in sorted((SRC / room).rglob("*.py"))]
    found = [
        f"{path.relative_to(SRC)}:{line}"
        for path in files
        if "re.compile(" in (text := path.read_text("utf-8"))
        for line in compiled_at_import(ast.parse(text))
    ]
    assert not found, "use lazy_regex of trueup.verdict.patterns"
