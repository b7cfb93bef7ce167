"""The conventions of the house, as tests: instead of comments that a reviewer would repeat."""

import ast
import functools
import importlib
import importlib.util
import re
import sys
import tokenize
import tomllib
from pathlib import Path

import pytest

from tests.effort import LONGER, RETRIED
from trueup.verdict.catalogue import FINDINGS, FIXES

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src" / "trueup"
MODULES = sorted(SRC.rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FOLDERS = ("src", "tests", "docs", "tools", "examples", "bench", "requirements", ".ci")
INSTALLED = {"__pycache__", "node_modules"}  # the latter by `make bundle`
TEXT = {".py", ".md", ".toml", ".yml", ".yaml", ".json", ".jsonl", ".txt", ".lock", ".cfg", ".in", ".svg", ".css", ""}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def own_files() -> list[Path]:
    """Every text file that is part of the project, wherever it is checked out."""
    files = [p for p in ROOT.iterdir() if p.is_file() and p.name != ".git"]  # a file in a linked worktree
    for folder in FOLDERS:
        files += [p for p in (ROOT / folder).rglob("*") if p.is_file() and not INSTALLED.intersection(p.parts)]
    return sorted(p for p in files if p.suffix in TEXT and p.name != "LICENSE")


def test_every_module_says_what_it_does() -> None:
    silent = [name_of(path) for path in MODULES if not ast.get_docstring(tree_of(path))]
    assert not silent, "no docstring: what enters, what leaves, what it refuses to do"


def test_only_the_command_line_prints() -> None:
    for path in MODULES:
        calls = (n.func for n in ast.walk(tree_of(path)) if isinstance(n, ast.Call))
        printed = [f.lineno for f in calls if isinstance(f, ast.Name) and f.id in {"print", "input", "breakpoint"}]
        assert not printed or "cli" in path.parts, name_of(path)


def test_only_the_parse_module_of_urllib_is_used() -> None:
    # import-linter sees whole packages; parsing an address does no I/O, opening one does.
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not [n for n in names if n.split(".")[0] == "urllib" and n != "urllib.parse"], name_of(path)


def test_inner_inits_have_only_a_docstring() -> None:
    for path in SRC.rglob("*/__init__.py"):
        body = tree_of(path).body
        assert len(body) == 1, f"{name_of(path)} holds code"
        assert isinstance(body[0], ast.Expr), f"{name_of(path)} holds code"


def test_the_front_door_is_small() -> None:
    import trueup

    assert len((SRC / "__init__.py").read_text("utf-8").splitlines()) <= 60
    for name in trueup.__all__:
        assert getattr(trueup, name) is not None
    assert set(trueup.__all__) <= set(dir(trueup))
    with pytest.raises(AttributeError, match="no attribute 'Contrakt'"):
        _ = trueup.Contrakt


def test_no_drawer_for_odds_and_ends() -> None:
    drawers = {"utils", "util", "helpers", "helper", "misc", "common"}
    assert not [name_of(p) for p in SRC.rglob("*") if p.stem in drawers]


# Parallel parts of the engine: each pair does the same for another provider, protocol, library or server.
PARALLEL = {
    "Bedrock", "Chat", "Cohere", "Gemini", "Messages", "Mistral", "Ollama", "Responses",  # a client or a route, and its test server
    "Connection", "Endpoint",  # of the gateway, and of the studio
    "ContractOutputParser", "Replies",  # the names that LangChain and LlamaIndex use; a column of pandas or polars
    "Request",  # to a provider, and as a scripted server received it: both are public
}  # fmt: skip


def test_a_class_has_a_unique_name() -> None:
    """A name that means two things makes readers look up every use of it."""
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(name_of(path))
    assert {name for name, modules in places.items() if len(modules) > 1} == PARALLEL


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    kinds = {**FIXES, **FINDINGS}
    assert len(kinds) == len(FIXES) + len(FINDINGS), "a code is both a fix and a finding"
    pages = {p.stem for p in (SRC / "findings").glob("*.md")}
    assert pages == {f"{kind.code}-{kind.name}" for kind in kinds.values()}
    assert not [code for code in kinds if not re.fullmatch(r"[A-Z]{1,3}\d{3}", code)]


def test_the_readme_is_short_and_its_commands_come_before_its_code() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 150
    assert text.index("make demo") < text.index("make test") < text.index("```python")


def test_the_readme_says_how_to_install_what_its_code_imports() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    code = ast.parse("\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)))
    imported = {node.module for node in ast.walk(code) if isinstance(node, ast.ImportFrom) and node.module}
    imported |= {each.name for node in ast.walk(code) if isinstance(node, ast.Import) for each in node.names}
    own = {re.split(r"[^\w-]", name)[0].replace("-", "_") for name in PROJECT["dependencies"]}
    others = {name.partition(".")[0] for name in imported} - own - sys.stdlib_module_names - {"trueup"}
    assert others == {"pydantic"}
    assert not [name for name in others if f"`pip install {name}`" not in text]


def test_prompts_of_an_interpreter_are_only_in_docstrings() -> None:
    """An example that a reader copies runs; only docstrings, which are tests, have `>>>`."""
    prompt = re.compile(r"^\W*>>> ")
    for path in own_files():
        if path.suffix == ".md":
            shown = re.sub(r'""".*?"""', "", path.read_text("utf-8"), flags=re.DOTALL)  # docstrings of code on the page
            assert not [line for line in shown.splitlines() if prompt.match(line)], name_of(path)
        elif path.suffix == ".py":
            with tokenize.open(path) as file:
                comments = [t for t in tokenize.generate_tokens(file.readline) if t.type == tokenize.COMMENT]
            assert not [t.string for t in comments if prompt.match(t.string)], name_of(path)


def test_nothing_installs_trueup_by_its_name() -> None:
    """trueup is not on a package index: `pip install` with its name could install somebody else's package. A path to it is fine."""
    command = r"\b(?:uvx|(?:pip\d?|pipx|uv|uv pip|uv tool|poetry|conda) (?:install|add|run))\b[^\n`#]*?(?<![\w./\\-])trueup(?![\w/.-])"
    by_name = re.compile(rf"{command}|(?<![\w./])trueup\[[a-z]")
    for path in own_files():
        if path.name != Path(__file__).name and path.suffix != ".jsonl":
            assert not by_name.search(path.read_text("utf-8")), name_of(path)


def test_nothing_names_this_machine_or_a_registry() -> None:
    # Built from pieces, so that this file does not name them either.
    words = [
        "/" + "work/",
        "/" + "root/",
        "/" + "opt/",
        "/" + "home/",
        "files." + "pythonhosted",
        "pypi" + ".org/simple",
    ]
    words += ["registry." + "npmjs", "--" + "index-url http", "extra-" + "index-url", "deb." + "debian"]
    found = []
    for path in own_files():
        text = path.read_text("utf-8", errors="replace")
        found += [f"{name_of(path)}: {word}" for word in words if word in text]
        if not path.is_relative_to(ROOT / "tests") and "/" + "tmp/" in text:  # a test may hold one as data
            found.append(f"{name_of(path)}: an absolute temporary path")
    assert not found


@pytest.mark.parametrize("lock", ["core.lock", "studio.lock", "gateway.lock", "dev.lock", "adapters.lock"])
def test_a_lock_is_hashed_and_names_no_host(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text("utf-8")
    assert "://" not in text
    for entry in re.split(r"\n(?=\S)", text):
        assert entry.startswith("#") or "--hash=sha256:" in entry, entry
    names = set(re.findall(r"^([\w.-]+)==", text, re.MULTILINE))
    needed = {re.split(r"[<>=!~\[]", need)[0].replace(".", "-") for need in PROJECT["dependencies"]}
    assert needed <= names


def test_changelog_and_package_agree_on_the_version() -> None:
    import trueup

    assert trueup.__version__ == PROJECT["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    heads = re.findall(r"^## (\S+)", changelog, re.MULTILINE)
    assert PROJECT["version"] in heads[:2], "the newest heading is the current version, or Unreleased above it"


@pytest.mark.spec("X49")
def test_few_dependencies_each_with_its_reason() -> None:
    names = [re.split(r"[<>=!~\[;]", need)[0].strip() for need in PROJECT["dependencies"]]
    assert len(names) <= 8
    reasons = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    assert not [name for name in names if f"| {name} |" not in reasons]


# A clock in a test: reading one, or asking another module or process for what it read. Waiting for a condition needs none.
CLOCKS = re.compile(
    r"\b(?:perf_counter|process_time|monotonic|thread_time|clock_gettime|timeit|ru_utime|ru_stime)\b"
    r"|\btime\.time\b|\bos\.times\b|\bloop\.time\(|\bfrom time import (?!sleep\b)|measure\.timing import|mark\.perf\b"
)
# The helper, this list, and the tests of `trueup.measure`, which is a clock itself.
READS_A_CLOCK = {
    "tests/growth.py",
    "tests/test_house.py",
    "tests/measure/test_timing.py",
    "tests/measure/test_material.py",
}


def test_one_helper_reads_a_clock_and_no_other_test_does() -> None:
    """Machines differ by a factor of five: compare growth with tests/growth.py, wait for conditions with tests/waiting.py."""
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if name_of(path) not in READS_A_CLOCK:
            lines = enumerate(path.read_text("utf-8").splitlines(), 1)
            found += [f"{name_of(path)}:{number}: {line.strip()}" for number, line in lines if CLOCKS.search(line)]
    assert not found


@pytest.mark.parametrize(
    "line", ["a = time.monotonic()", "b = os.times()", "from time import perf_counter", "time.time()"]
)
def test_a_line_that_reads_a_clock_is_recognized(line: str) -> None:
    assert CLOCKS.search(line)
    assert not CLOCKS.search("time.sleep(0.1)")


def test_tests_that_may_run_twice_exist_and_say_why() -> None:
    assert len(RETRIED) <= 10
    for name, why in RETRIED.items():
        file, _, test = name.partition("::")
        assert f"def {test}(" in (ROOT / file).read_text("utf-8"), name
        assert len(why.split()) >= 5, name


def test_make_soak_lists_every_test_that_tries_harder() -> None:
    using = {
        name_of(path)
        for path in (ROOT / "tests").rglob("*.py")
        if "import SOAK" in (text := path.read_text("utf-8")) or ", SOAK" in text
    }
    assert using - {"tests/test_house.py"} == set(LONGER)


def test_the_locks_agree() -> None:
    pins = [
        dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements" / name).read_text("utf-8"), re.MULTILINE))
        for name in ("core.lock", "studio.lock", "gateway.lock", "dev.lock")
    ]
    assert pins[0].items() <= pins[1].items() <= pins[2].items(), "run `make lock`"


def test_every_adapter_is_short_tested_and_documented() -> None:
    from tests.adapters.elsewhere import ADAPTERS
    from tests.adapters.test_page import sections

    shown = {name for _, adapters, _ in sections() for name in adapters}
    for name in ADAPTERS:
        lines = (SRC / "adapters" / f"{name}.py").read_text("utf-8").splitlines()
        assert len(lines) <= 150, f"{name}: {len(lines)} lines"
        assert (ROOT / "tests" / "adapters" / f"test_{name}.py").exists(), name
        assert name in shown, f"docs/howto/integrations.md has no section that imports trueup.adapters.{name}"
    assert ADAPTERS


def test_every_family_of_shapes_is_measured_by_the_bench() -> None:
    from tests.shapes import families, large
    from tests.shapes.shape import Shape

    listed = {id(shape) for shapes in families.FAMILIES.values() for shape in shapes}
    for path in sorted((ROOT / "tests" / "shapes").glob("*.py")):
        module = importlib.import_module(f"tests.shapes.{path.stem}")
        for name, value in vars(module).items():
            shapes = [shape for shape in value if isinstance(shape, Shape)] if isinstance(value, list) else []
            assert all(id(shape) in listed for shape in shapes), f"{module.__name__}.{name} is in no family"
    assert large.INPUTS


def test_benches_import_only_names_that_are_there() -> None:
    """Also those that a function imports when it is called: a bench takes minutes, so tests do not run it."""
    imports = [
        (path, node.module, alias.name)
        for path in sorted((ROOT / "bench").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "trueup"
        for alias in node.names
    ]
    assert len(imports) > 20
    missing = [
        f"{path.name}: {module}.{name}"
        for path, module, name in imports
        if not hasattr(importlib.import_module(module), name) and importlib.util.find_spec(f"{module}.{name}") is None
    ]
    assert not missing


def paths_in(page: Path) -> set[str]:
    """Every path of a file or a folder that a page names as code: `recover/json/parser.py`, `tests/shapes/`."""
    return set(
        re.findall(r"`([\w.-]+(?:/[\w.-]+)*(?:/|/[\w-]+\.(?:py|js|toml|md|yaml|json|txt)))`", page.read_text("utf-8"))
    )


@pytest.mark.parametrize(
    "page", [ROOT / "docs" / "design.md", *sorted((ROOT / "docs" / "decisions").glob("*.md"))], ids=name_of
)
def test_a_page_about_the_design_names_files_and_folders_that_exist(page: Path) -> None:
    inside = [path for folder in FOLDERS for path in [ROOT / folder, *(ROOT / folder).rglob("*")]]
    known = [f"/{name_of(path)}{'/' * path.is_dir()}" for path in inside]
    assert not [path for path in sorted(paths_in(page)) if not any(each.endswith(f"/{path}") for each in known)]


def test_the_design_leads_to_where_things_are_done() -> None:
    text = (ROOT / "docs" / "design.md").read_text("utf-8")
    walks = re.findall(r"^### Where (.*?)\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    assert [title for title, _ in walks] == [
        "a trailing comma is repaired", "a 429 is handled", "a quota is charged", "a page of the studio is drawn",
    ]  # fmt: skip
    for title, walk in walks:
        named = re.findall(r"`([a-z_]+/[\w/.-]+\.\w+)`", walk)
        assert len(named) >= 5, title
        assert not [path for path in named if not (SRC / path).exists()], title
