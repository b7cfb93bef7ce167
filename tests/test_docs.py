"""The documentation is correct: its examples run, its generated pages are fresh, its pages fetch nothing.

In README.md and docs/: a `python` block is run, and the lines `# → …` below a statement are exactly what it prints. The blocks of
one page share their names. A `console` block runs its `$` lines and compares what they print. `make snapshots` writes both outputs.
"""

import ast
import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.leftovers import collected
from tools import pages
from trueup.contract.lint.run import lint_contract

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ELSEWHERE = (
    ROOT / "docs" / "howto" / "integrations.md"
)  # tests/adapters/test_page.py runs each section where its library is
_BLOCK = re.compile(
    r"^(?P<fence>`{3,})(?P<kind>python|console)(?: title=\"[^\"]*\")?\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_OUTPUT = "# →"


class Block(NamedTuple):
    kind: str
    text: str
    line: int
    span: tuple[int, int]


def blocks_of(text: str) -> list[Block]:
    return [
        Block(m["kind"], m["text"], text.count("\n", 0, m.start("text")), m.span("text")) for m in _BLOCK.finditer(text)
    ]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def with_blocks(*kinds: str) -> list[Path]:
    return [p for p in PAGES if any(b.kind in kinds for b in blocks_of(p.read_text("utf-8")))]


@pytest.fixture
def desk(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A current folder with only the files that a reader of the page has.

    It is a copy of examples/ if the page says so (`cd examples`, or `cp -r examples try`), and otherwise empty. Environment
    variables that a page sets end with it.
    """
    before = dict(os.environ)
    if re.search(r"`(cd|cp -r) examples\b", page.read_text("utf-8")):
        shutil.copytree(ROOT / "examples", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for left in tmp_path.glob("*.pid"):  # of a page that failed before it stopped what it had started
        with contextlib.suppress(ProcessLookupError, ValueError):
            os.kill(int(left.read_text()), signal.SIGTERM)
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize("page", [p for p in with_blocks("python") if p != ELSEWHERE], ids=name_of)
def test_python_examples_print_what_they_show(
    page: Path, desk: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    module = type(sys)("example")  # dataclasses and pydantic look up the module of a class
    monkeypatch.setitem(sys.modules, "example", module)
    names: dict[str, Any] = module.__dict__
    text = page.read_text("utf-8")
    fresh, at = [], 0
    with collected(), contextlib.redirect_stdout(io.StringIO()) as printed:
        for block in blocks_of(text):
            if block.kind == "python":
                fresh += [text[at : block.span[0]], run_python(block, names, page, printed)]
                at = block.span[1]
        names.clear()
    compare(page, "".join([*fresh, text[at:]]), request)


def run_python(block: Block, names: dict[str, Any], page: Path, printed: io.StringIO) -> str:
    """The block, after it has run, with the output of each statement below it."""
    lines = block.text.splitlines(keepends=True)
    fresh, at = [], 0
    for statement in ast.parse(block.text).body:
        printed.seek(0)
        printed.truncate()
        try:
            exec(compile(ast.Module([statement], []), "example.py", "exec"), names)
        except Exception as error:
            error.add_note(f"in {name_of(page)}, line {block.line + statement.lineno}")
            raise
        end = statement.end_lineno or 0
        shown = [f"{_OUTPUT} {line}".rstrip() + "\n" for line in printed.getvalue().splitlines()]
        fresh += [*lines[at:end], *shown]
        at = end
        while at < len(lines) and lines[at].startswith(_OUTPUT):
            at += 1
    return "".join([*fresh, *lines[at:]])


def compare(page: Path, fresh: str, request: pytest.FixtureRequest) -> None:
    """The page shows what its examples printed; `make snapshots` writes it again."""
    if request.config.getoption("--update-snapshots"):
        page.write_text(fresh, "utf-8")
    assert fresh == page.read_text("utf-8"), "output changed: run `make snapshots` and look at the diff"


PARTS = [
    pytest.param(found[1], id=f"{name_of(page)}-{number}")
    for page in PAGES
    for number, found in enumerate(
        re.finditer(
            r"^```yaml\n((?:states|reply|rules|tools):\n.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
        )
    )
]


@pytest.mark.parametrize("part", PARTS)
def test_parts_of_contracts_can_be_used_as_they_are_shown(part: str, tmp_path: Path) -> None:
    contract = tmp_path / "contract.yaml"
    contract.write_text(f"schema: true\n{part}" if part.startswith("rules:") else part, "utf-8")
    assert not [str(found) for found in lint_contract(contract).faults]


def shown(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output that the page shows."""
    pieces = re.split(r"^\$ ", block, flags=re.MULTILINE)
    assert not pieces[0].strip(), "a console block starts with `$ `"
    return [(first, rest) for first, _, rest in (piece.partition("\n") for piece in pieces[1:])]


def run_shown(command: str, desk: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"}
    for name in ("FORCE_COLOR", "TIKTOKEN_CACHE_DIR"):  # litellm sets the second when a test imports it
        env.pop(name, None)
    done = subprocess.run(
        ["bash", "-c", command], cwd=desk, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return "\n".join(line.rstrip() for line in done.stdout.decode().splitlines())


@pytest.mark.parametrize("page", with_blocks("console"), ids=name_of)
def test_console_examples_print_what_they_show(page: Path, desk: Path, request: pytest.FixtureRequest) -> None:
    text = page.read_text("utf-8")
    fresh, at = [], 0
    for block in blocks_of(text):
        if block.kind != "console":
            continue
        real = [(command, run_shown(command, desk)) for command, _ in shown(block.text)]
        fresh += [
            text[at : block.span[0]],
            *(f"$ {command}\n{out}\n" if out else f"$ {command}\n" for command, out in real),
        ]
        at = block.span[1]
    fresh.append(text[at:])
    compare(page, "".join(fresh), request)


def test_the_command_line_reference_is_fresh() -> None:
    assert pages.CLI_PAGE.read_text("utf-8") == pages.cli_page(), "run `make snapshots`"


def test_the_list_of_commands_has_whole_sentences() -> None:
    lines = pages.cli_page().splitlines()
    assert not [line for line in lines if line.endswith("...") and not line.startswith("Usage: ")]


def test_every_command_is_described_in_a_how_to() -> None:
    commands = re.findall(r"^## `(trueup \w+)`", pages.cli_page(), re.MULTILINE)
    text = "".join(page.read_text("utf-8") for page in (ROOT / "docs" / "howto").glob("*.md"))
    assert commands
    assert not [command for command in commands if command not in text]


class Resources(HTMLParser):
    """Collects the addresses that a browser would fetch to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value or "" for key, value in attrs}
        fetched = {"src", "srcset", "poster", "data"} | ({"href"} if tag in {"link", "use", "image"} else set())
        self.urls += [value for key, value in values.items() if key in fetched and tag != "a"]
        if "style" in values:
            self.urls += re.findall(r"url\(\s*['\"]?([^'\")]+)", values["style"])


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built strictly."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def test_the_built_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    away = re.compile(r"(?:https?:)?//")
    for page in site.rglob("*.html"):
        seen = Resources()
        seen.feed(page.read_text("utf-8"))
        assert not [url for url in seen.urls if away.match(url)], page.relative_to(site)
    for sheet in site.rglob("*.css"):
        urls = re.findall(r"(?:url\(|@import)\s*['\"]?([^'\")]+)", sheet.read_text("utf-8"))
        assert not [url for url in urls if away.match(url)], sheet.relative_to(site)


@pytest.mark.needs("browser")
def test_the_pages_work_from_disk_and_their_search_does_too(site: Path) -> None:
    from playwright.sync_api import expect, sync_playwright

    asked: list[str] = []
    wrong: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu", "--disable-component-update"]
        )
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        field, found = page.get_by_role("textbox", name="Search"), page.locator(".md-search-result__link")
        for name in ("reference/api.html", "howto/accept.html", "index.html"):
            page.goto((site / name).as_uri())
            field.press_sequentially("trailing comma")
            expect(found.first).to_be_visible(timeout=60_000)
        field.clear()
        field.press_sequentially("xylophonist")
        expect(page.get_by_text("No matching documents")).to_be_visible(timeout=60_000)
        field.clear()
        field.press_sequentially("circuit breakers")
        found.filter(has_text="Ask until the reply is valid").first.click(timeout=60_000)
        expect(page.get_by_role("heading", level=1)).to_contain_text("Ask until the reply is valid", timeout=60_000)
        browser.close()
    assert not wrong
    assert not [url for url in asked if not url.startswith((site.as_uri(), "data:", "about:", "blob:"))]


def test_every_finding_page_is_reachable_from_the_catalogue(site: Path) -> None:
    index = (site / "reference" / "codes.html").read_text("utf-8")
    for name in pages.finding_pages():
        page = f"findings/{Path(name).stem}.html"
        assert page in index
        assert (site / "reference" / page).exists()
