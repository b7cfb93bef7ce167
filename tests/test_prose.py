"""The prose linter: the text that it reads in each kind of file, the hits of each rule, and the text that it skips."""

import subprocess
import sys
from pathlib import Path

import pytest

from english import exempt, markdown, python, script, settings
from english.files import LEFT_OUT, passages_of
from english.lint import Hit, lint
from english.passage import passage
from english.rules import OURS, THEIRS, checks, rules


def found(text: str) -> list[str]:
    return [hit.rule for hit in lint(("a.md", one) for one in markdown.markdown(text))]


BAD = [(rule.name, text) for rule in rules().values() for text in (rule.before, *rule.fires)]
GOOD = [(rule.name, text) for rule in rules().values() for text in (rule.after, *rule.quiet)]


@pytest.mark.parametrize(("rule", "text"), BAD)
def test_a_rule_finds_its_habit(rule: str, text: str) -> None:
    assert rule in found(text)


@pytest.mark.parametrize(("rule", "text"), GOOD)
def test_a_rule_leaves_plain_english_alone(rule: str, text: str) -> None:
    assert rule not in found(text)


@pytest.mark.parametrize("rule", rules().values(), ids=rules())
def test_a_correction_breaks_no_other_rule(rule: object) -> None:
    assert not found(rule.after)  # type: ignore[attr-defined]


def test_rules_of_proselint_run_too() -> None:
    assert found("It keeps the the reply.") == ["lexical_illusions"]
    known = {check.path for check in checks()}
    assert {path.partition(".")[0] for path in known} > {OURS, "lexical_illusions", "malapropisms"}


def test_every_switch_names_a_check_of_proselint() -> None:
    from proselint.checks import __register__

    for prefix in THEIRS:
        assert prefix == OURS or any(check.matches_partial(prefix) for check in __register__), prefix


def test_code_is_not_prose() -> None:
    assert not found("Write `is no tool` there, or see https://example.com/is no tool?")
    assert not found("    \n```\nThis is no tool.\n```")


MARKDOWN = """# A heading

Two lines
of a *paragraph* with `code` and [a link](https://example.com).

- an item
  that continues

| cell | other |
|---|---|
| `a|b` | text |

```python
x = "not prose"
```

<!-- a remark
over two lines -->
!!! note "A title"
"""

PYTHON = '''"""Says what it does.

>>> says("not prose")
'nor this'

More.
"""

WORDS = "not_a_sentence"
MESSAGE = f"the file {name} " \\
    "cannot be read"  # a remark
PATTERN = r"(?:not|a) [sentence]"
QUERY = "SELECT this FROM that"


# A comment
# of two lines.
def f():  # noqa: D103
    """Does it."""
'''

YAML = """# A comment
name: not said
rules:
  - expr: a > b and b > c
    reason: The order is wrong
    hint: >
      Sort them
      first.
"""

SCRIPT = """// A comment
// of two lines.
const a = "not_prose", b = "Cannot read the file", r = /not prose/;
/* A block */
const c = html`<p title="A title here">Text with <b>bold</b> ${x ? html`<i>inner text</i>` : "no text given"} words</p>`;
"""

PAGE = """<html><style>/* not read */ a { color: red }</style><body><p>Some text</p>
<script>// A remark
</script></body></html>
"""


@pytest.mark.parametrize(
    ("passages", "expected"),
    [
        (
            markdown.markdown(MARKDOWN),
            [
                (1, "A heading"),
                (3, "Two lines of a paragraph with `code` and a link."),
                (6, "an item that continues"),
                (9, "cell"),
                (9, "other"),
                (11, "`a|b`"),
                (11, "text"),
                (19, '"A title"'),
            ],
        ),
        (
            python.python(PYTHON),
            [
                (1, "Says what it does."),
                (6, "More."),
                (10, "the file `name` cannot be read"),
                (11, "a remark"),
                (16, "A comment of two lines."),
                (19, "Does it."),
            ],
        ),
        (
            settings.settings(YAML),
            [(1, "A comment"), (5, "The order is wrong"), (7, "Sort them first.")],
        ),
        (
            script.script(SCRIPT),
            [
                (1, "A comment of two lines."),
                (3, "Cannot read the file"),
                (4, "A block"),
                (5, "A title here"),
                (5, "Text with bold {…} words"),
                (5, "inner text"),
                (5, "no text given"),
            ],
        ),
        (script.page(PAGE), [(1, "Some text"), (2, "A remark")]),
    ],
    ids=["markdown", "python", "yaml", "script", "page"],
)
def test_prose_is_read_with_its_lines(passages: object, expected: list[tuple[int, str]]) -> None:
    read = sorted((one.line, one.text.strip()) for one in passages)  # type: ignore[attr-defined]
    assert read == sorted(expected)


def test_strings_in_tests_are_data(tmp_path: Path, root: Path) -> None:
    texts = [one.text for one in passages_of(root / "tests" / "test_prose.py")]
    assert texts[0].startswith("The prose linter")
    assert "the file {name} cannot be read" not in texts


def test_a_hit_has_the_line_and_column_of_its_first_word() -> None:
    lines = "First line\n  and *some* `code` is no tool."
    (hit,) = lint(("a.md", one) for one in markdown.markdown(lines))
    assert str(hit) == "a.md:2:21: is-no: 'is no tool' → is not a …"


@pytest.mark.parametrize(
    "code",
    [
        """raise ValueError(f"{path}: this is no run directory")\n""",
        """raise ValueError(f"[{i}]: {kind!r} is no type; it takes {known}")\n""",
        """say(f"{name.get('a', `b`)} is no tool")\n""",
    ],
)
def test_values_in_a_message_do_not_hide_its_words(code: str) -> None:
    (hit,) = lint(("a.py", one) for one in python.python(code))
    assert hit.rule == "is-no"
    assert code[hit.column - 1 :].startswith(hit.words[:4])


def test_a_long_string_that_is_an_item_is_not_a_docstring() -> None:
    code = 'CASES = [\n    """this is no tool""",\n]\n\n\ndef f() -> None:\n    """This is no tool."""\n'
    assert [one.line for one in python.python(code, messages=False)] == [7]


def test_a_single_backtick_does_not_hide_the_text_after_its_paragraph() -> None:
    lines = "A ` alone.\n\nThis is no tool.\n\nAnother ` alone."
    assert [hit.line for hit in lint(("a.md", one) for one in markdown.markdown(lines))] == [3]


def test_a_phrase_is_found_across_a_line_break() -> None:
    (hit,) = lint(("a.py", one) for one in python.python("# This text is\n# no tool.\n"))
    assert (hit.line, hit.column, hit.rule) == (1, 8, "is-no")


def test_two_passages_are_not_one_sentence() -> None:
    assert not list(lint([("a.py", one) for text in ("this is", "no tool") for one in passage(text, 1, 1)]))


def hit(file: str, line: int = 1, rule: str = "is-no") -> Hit:
    return Hit(file, line, 1, rule, "is no tool", "is not a …")


def test_a_line_can_be_exempt_with_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    text = "<!-- prose: allow is-no (it quotes a poem) -->\nIt is no tool.\n\nThis is no tool.\n"
    file.write_text(text, "utf-8")
    hits = lint((str(file), one) for one in passages_of(file))
    assert [one.line for one in exempt.without_exempt(hits)] == [4]


def test_an_exemption_needs_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("It is no tool. <!-- prose: allow is-no -->\n", "utf-8")
    assert exempt.without_exempt(lint((str(file), one) for one in passages_of(file)))


def test_every_exempt_file_exists_and_has_a_reason(root: Path) -> None:
    for entry in exempt.listed():
        assert len(str(entry["reason"]).split()) >= 3, entry
        assert list(root.glob(str(entry["files"]))), entry
        named = entry.get("rules", [])
        assert isinstance(named, list)
        assert {str(name) for name in named} <= {*rules(), *(check.path for check in checks())}, entry
    assert all(len(reason.split()) >= 3 for reason in LEFT_OUT.values())


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "tools/prose.py", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def test_named_files_are_checked_in_full(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("# Title\n\nIt is no tool.\n", "utf-8")
    done = run(root, str(file))
    assert done.returncode == 1
    assert done.stdout.startswith(f"{file}:3:1: is-no: 'It is no tool' → is not a …\n")
    file.write_text("# Title\n\nIt is not a tool.\n", "utf-8")
    assert run(root, str(file)).returncode == 0
    assert run(root, "--extract", str(file)).stdout == f"{file}:1: Title\n{file}:3: It is not a tool.\n"


def test_a_missing_file_is_an_error(root: Path) -> None:
    done = run(root, "no-such-file.md")
    assert (done.returncode, "no such file or folder: no-such-file.md" in done.stderr) == (2, True)


def test_the_style_guide_lists_every_rule(root: Path) -> None:
    from tools.pages import habits

    assert habits() in (root / "docs" / "style.md").read_text("utf-8"), "run `make snapshots`"
