"""`trueup tune` as a person or a script runs it."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.running import Run
from trueup import Contract
from trueup.store.open import open_store

CONTRACT = """# Levels.
schema:
  type: object
  properties:
    level: {enum: [low, high]}   # two
    n: {type: integer}
rules:
  - {name: even, expr: n % 2 == 0, when: "'n' in dir()"}
"""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "levels.yaml").write_text(CONTRACT)
    replies = [{"level": "very high"}] * 14 + [{"level": "banana"}] * 12 + [{"level": "low"}] * 20 + [{"n": 3}] * 12
    rows = [{"unit_id": f"u{n}", "raw_response": json.dumps(reply)} for n, reply in enumerate(replies)]
    (tmp_path / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    labels = [{"verdict": f"u{n}", "outcome": "wrong", "author": "ada"} for n in range(14)]
    labels += [{"verdict": f"u{n}", "outcome": "right", "author": "ada"} for n in range(14, 26)]
    labels += [{"verdict": f"u{n}", "outcome": "wrong", "author": "bob"} for n in range(4)]
    labels += [{"verdict": f"u{n}", "outcome": "right", "author": "ada", "drawn": "random"} for n in range(26, 40)]
    labels += [{"verdict": f"u{n}", "outcome": "wrong", "author": "ada"} for n in range(46, 50)]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    return tmp_path


ASKED = ("tune", "levels.yaml", "replies.jsonl", "--labels", "labels.jsonl")


def test_a_person_sees_the_rules_and_each_suggestion_with_its_diff(run: Run, desk: Path) -> None:
    done = run(*ASKED)
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    assert "58 replies judged, 44 labelled by 2 people; κ undefined over 4 replies" in done.out
    assert "V005 $.level      26      26  46% [29%, 65%]" in done.out
    assert "every refusal     38      30  40% [25%, 58%]" in done.out
    assert "1. level is often 'very high': read it as 'high'" in done.out
    assert "   14 of 14 labels say that the refusal is wrong. p = " in done.out
    assert "   Of 58 replies: 14 newly accepted; by their labels, 14 are better, 0 worse;" in done.out
    assert "   +  aliases: {high: [very high]}" in done.out
    assert "even has 4 labels; 10 are needed:\n  trueup label replies.jsonl --contract levels.yaml\n" in done.out
    assert done.out.rstrip().endswith("✓ 1 suggestion. Write one: trueup tune … --apply 1")


def test_colour_is_for_terminals_and_on_request(run: Run, desk: Path) -> None:
    assert "\x1b[" not in run(*ASKED).out
    assert "\x1b[32m+  aliases" in run(*ASKED, "--color", "always").out


def test_json_has_measures_and_suggestions(run: Run, desk: Path) -> None:
    told = json.loads(run(*ASKED, "--json").out)
    assert (told["replies"], told["labelled"], told["random_sample"]) == (58, 44, 14)
    assert {row["unit"]: (row["right"], row["wrong"]) for row in told["codes"]} == {"V005": (12, 14), "B005": (0, 4)}
    assert told["whole"]["recall"] == 1.0
    suggestion = told["suggestions"][0]
    assert (suggestion["kind"], suggestion["labels"], suggestion["better"]) == ("alias", 14, 14)
    assert suggestion["diff"].startswith("--- a/levels.yaml\n+++ b/levels.yaml\n")
    assert suggestion["backtest"]["newly_accepted"] == 14
    assert told["labels_needed"][0]["name"] == "even"


def test_markdown_is_for_pull_requests(run: Run, desk: Path) -> None:
    out = run(*ASKED, "--markdown").out
    assert out.startswith("## `levels.yaml`: 1 suggestion\n")
    assert "```diff\n--- a/levels.yaml\n" in out
    assert "| `V005 $.level` | 26 | 26 | 46% [29%, 65%] | " in out


def test_apply_writes_and_lint_agrees(run: Run, desk: Path) -> None:
    done = run(*ASKED, "--apply", "1")
    assert done.code == 0
    assert done.out.splitlines()[0] == "✓ Written: levels.yaml"
    assert "2 examples added from your traffic" in done.out
    assert (desk / "levels.yaml").read_text().startswith(CONTRACT)
    assert run("lint", "--run", "--strict", "levels.yaml").code == 0


def test_examples_can_be_left_out(run: Run, desk: Path) -> None:
    run(*ASKED, "--apply", "1", "--no-examples")
    assert "examples" not in (desk / "levels.yaml").read_text()


def test_labels_next_to_the_replies_are_found(run: Run, desk: Path) -> None:
    (desk / "labels.jsonl").rename(desk / "replies.labels.jsonl")
    assert "44 labelled" in run("tune", "levels.yaml", "replies.jsonl", "--no-backtest").out


def test_a_store_has_its_own_labels_and_the_decisions_they_are_about(run: Run, desk: Path) -> None:
    contract = Contract.load(desk / "levels.yaml")
    with open_store(desk / "s.db") as store:
        for number, row in enumerate((desk / "replies.jsonl").read_text().splitlines()):
            verdict = contract.check(json.loads(row)["raw_response"])
            store.record_verdict(verdict, id=f"u{number}", contract=contract)
            if number < 26:
                store.record_feedback(f"u{number}", outcome="wrong" if number < 14 else "right", user="ada")
    asked = ("tune", "levels.yaml", "s.db")
    done = run(*asked)
    assert "58 replies judged, 26 labelled by 1 person" in done.out
    assert "do not say which decision" not in done.out
    assert "58 replies do not say which context they were judged with." in done.out
    assert "Of 58 replies: 14 newly accepted" in done.out
    assert "1. level is often 'very high': read it as 'high'" in done.out
    assert run(*asked, "--apply", "1").code == 0
    again = run(*asked).out
    assert "No suggestions" in again, "the labels speak of what was decided then"


def test_without_labels_nothing_is_invented(run: Run, desk: Path) -> None:
    done = run("tune", "levels.yaml", "replies.jsonl")
    assert done.code == 0
    assert "Recall is unknown: no random sample" in done.out
    assert "%" not in done.out
    assert done.out.rstrip().splitlines()[-1].startswith("✓ No suggestions: ")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("tune", "levels.yaml"), "Missing argument 'SOURCE…'"),
        (("tune", "level.yaml", "replies.jsonl"), "did you mean 'levels.yaml'?"),
        (("tune", "levels.yaml", "none.jsonl"), "none.jsonl: there is no such file; give a store"),
        (
            ("tune", "levels.yaml", "replies.jsonl", "--labels", "none.jsonl"),
            "none.jsonl: there is no such file of labels",
        ),
        (("tune", "broken.yaml", "replies.jsonl"), "N005 unknown key 'shema'"),
        ((*ASKED, "--apply", "9"), "unknown suggestion 9; the last suggestion is 1"),
        ((*ASKED, "--json", "--markdown"), "choose one"),
    ],
)
def test_errors_are_reported_in_one_line(run: Run, desk: Path, asked: tuple[str, ...], said: str) -> None:
    (desk / "broken.yaml").write_text("shema: {}\n")
    done = run(*asked)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "Traceback" not in done.err


def test_a_contract_that_does_not_lint_is_reported_in_one_line(run: Run, desk: Path) -> None:
    (desk / "bad.yaml").write_text("schema: {type: nope}\n")
    done = run("tune", "bad.yaml", "replies.jsonl")
    assert (done.code, done.out) == (2, "")
    assert "bad.yaml:1:16: N007 the schema cannot be used" in done.err


def test_commands_to_copy_are_quoted_and_work(run: Run, desk: Path) -> None:
    contract = Contract({"properties": {"n": {"type": "integer"}}}, rules=["n % 2 == 0"], name="odd")
    (desk / "odd.yaml").write_text("schema: {properties: {n: {type: integer}}}\nrules: [n % 2 == 0]\n")
    with open_store(desk / "my store.db") as store:
        for n in range(1, 31, 2):
            store.record_verdict(contract.check(f'{{"n": {n}}}'), contract=contract)
    done = run("tune", "odd.yaml", "my store.db")
    assert "trueup label 'my store.db' --rule 'n % 2 == 0'" in done.out
    shown = run("label", "my store.db", "--rule", "n % 2 == 0", stdin="q\n")
    assert "n % 2 == 0" in shown.out


def test_nothing_to_judge_is_not_a_success(run: Run, desk: Path) -> None:
    (desk / "empty.jsonl").write_text("")
    done = run("tune", "levels.yaml", "empty.jsonl")
    assert done.out.rstrip().endswith("No reply was judged, so nothing is known about this contract.")
    (desk / "few.jsonl").write_text('{"unit_id": "a", "raw_response": "{}"}\n')
    assert (
        "These replies have no labels yet: trueup label few.jsonl --contract levels.yaml"
        in run("tune", "levels.yaml", "few.jsonl").out
    )


def test_markdown_contains_only_our_own_markup(run: Run, desk: Path) -> None:
    text = CONTRACT.replace("name: even", "name: '<b>`even|odd`</b> ![x](y)'")
    (desk / "levels.yaml").write_text(text)
    (desk / "labels.jsonl").write_text(
        "".join(f'{{"verdict": "u{n}", "outcome": "wrong", "author": "ada"}}\n' for n in range(46, 58))
    )
    done = run(*ASKED, "--markdown")
    assert "| ``rule <b>`even\\|odd`</b> ![x](y)`` | 12 |" in done.out
    assert "### 1. Rule '&lt;b>\\`even\\|odd\\`&lt;/b> !\\[x\\](y)' mostly misfires" in done.out


def test_silent_rules_come_last_as_information(run: Run, desk: Path) -> None:
    (desk / "levels.yaml").write_text(CONTRACT + "  - {name: cheap, expr: 'level != 1', when: \"'level' in dir()\"}\n")
    rows = [{"unit_id": f"m{n}", "raw_response": '{"level": "low"}'} for n in range(900)]
    with (desk / "replies.jsonl").open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    done = run(*ASKED)
    first, last = done.out.index("1. level is often"), done.out.index("2. Rule 'cheap' has not fired")
    assert first < done.out.index("For your information\n2.") < last
    assert "✓ 1 suggestion, 1 silent rule for your information. Write one:" in done.out
    told = json.loads(run(*ASKED, "--json").out)["suggestions"]
    assert [(each["kind"], each["advice"]) for each in told] == [("alias", True), ("dead", False)]


def test_a_folder_in_place_of_the_contract_is_called_a_folder(run: Run, desk: Path) -> None:
    (desk / "contracts").mkdir()
    done = run("tune", "contracts", "replies.jsonl")
    assert (done.code, done.out) == (2, "")
    assert done.err == "trueup: contracts: that is a directory; CONTRACT is a YAML, TOML or JSON file\n"


def test_a_pipe_in_place_of_the_contract_is_called_a_pipe(run: Run, desk: Path) -> None:
    os.mkfifo(desk / "pipe.yaml")
    done = run("tune", "pipe.yaml", "replies.jsonl")
    assert (done.code, done.out) == (2, "")
    assert "pipe.yaml:1:1: N001 the file cannot be read: it is a pipe or a device" in done.err
