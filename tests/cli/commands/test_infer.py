"""`trueup infer` as a person or a script runs it."""

import json
from pathlib import Path

import pytest

from tests.cli.running import Run

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    path = tmp_path / "replies.jsonl"
    texts = [
        f'{{"name": "n{n}", "age": {n}}}' if n % 2 else f"Sure! {{'name': 'n{n}', 'age': {n},}}" for n in range(100)
    ]
    lines = [json.dumps({"unit_id": str(n), "raw_response": text}) for n, text in enumerate([*texts, "I am sorry."])]
    path.write_text("\n".join(lines))
    return path


def test_the_draft_can_be_piped_and_the_report_is_on_standard_error(run: Run, replies: Path) -> None:
    done = run("infer", "replies.jsonl", "--name", "people")
    assert done.code == 0
    assert done.out.startswith("# Drafted by `trueup infer` from 101 replies: ")
    assert "name: people\n" in done.out
    assert "required: [name, age]" in done.out
    assert done.err.startswith("101 replies: ")
    assert "complete held-out replies pass" in done.err
    assert max(map(len, (*done.out.splitlines(), *done.err.splitlines()))) <= 80


def test_a_file_is_never_replaced_unasked(run: Run, replies: Path) -> None:
    assert run("infer", "replies.jsonl", "-o", "people.yaml").code == 0
    written = (replies.parent / "people.yaml").read_text()
    assert run("lint", "--strict", "people.yaml").code == 0
    assert run("check", "--contract", "people.yaml", stdin=b'{"name": "x", "age": "7"}').code == 0
    again = run("infer", "replies.jsonl", "-o", "people.yaml", "--seed", "4")
    assert (again.code, again.out) == (2, "")
    assert "give --force to replace it" in again.err
    assert (replies.parent / "people.yaml").read_text() == written
    assert run("infer", "replies.jsonl", "-o", "people.yaml", "--force", "--strictness", "tight").code == 0
    assert (replies.parent / "people.yaml").read_text() != written
    assert [path.name for path in replies.parent.iterdir() if ".new" in path.name] == []


def test_a_draft_next_to_the_schema_names_it_for_editors(run: Run, replies: Path) -> None:
    (replies.parent / "contract.schema.json").write_text(run("lint", "--editor-schema").out, "utf-8")
    assert run("infer", "replies.jsonl", "-o", "people.yaml").code == 0
    first, second, *_ = (replies.parent / "people.yaml").read_text("utf-8").splitlines()
    assert first == "# yaml-language-server: $schema=contract.schema.json"
    assert second.startswith("# Drafted")
    assert run("lint", "--strict", "people.yaml").code == 0


def test_json_is_one_document(run: Run, replies: Path) -> None:
    done = run("infer", "replies.jsonl", "--json")
    found = json.loads(done.out)
    report = found["report"]
    assert found["contract"]["schema"]["required"] == ["name", "age"]
    assert found["evidence"]["$.schema.properties.name"].startswith("in ")
    assert report["cases"] == report["used"] + report["held"]["total"] + sum(report["unusable"].values()) == 101
    assert report["ok"] is True
    assert found["yaml"].startswith("# Drafted")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        pytest.param(["nowhere.jsonl"], "nowhere.jsonl", id="no such file"),
        pytest.param([], "Missing argument", id="no source"),
        pytest.param(["replies.jsonl", "-o", "x.json"], "ends in .yaml", id="not YAML"),
        pytest.param(["replies.jsonl", "-o", "no/x.yaml"], "-o no/x.yaml: there is no folder no", id="no such folder"),
        pytest.param(["replies.jsonl", "--holdout", "0.9"], "0.9", id="too much held out"),
        pytest.param(["replies.jsonl", "--operation", "x"], "OpenAPI", id="no API"),
        pytest.param(["nothing:Order"], "no module 'nothing'", id="no such module"),
        pytest.param(["empty.jsonl"], "contain no replies", id="no reply"),
        pytest.param(["replies.jsonl", "trueup.verdict.reply:Reply"], "give it alone", id="mixed"),
        pytest.param(["wrong.yaml"], "not an OpenAPI file", id="another YAML file"),
    ],
)
def test_errors_are_reported_in_one_line(run: Run, replies: Path, args: list[str], said: str) -> None:
    (replies.parent / "empty.jsonl").write_text("")
    (replies.parent / "wrong.yaml").write_text("a: 1\n")
    done = run("infer", *args)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "Traceback" not in done.err


def test_replies_without_a_value_are_reported(run: Run, tmp_path: Path) -> None:
    lines = [{"unit_id": str(n), "raw_response": f'{{"n": {n}}}'} for n in range(40)]
    lines += [{"unit_id": f"x{n}", "raw_response": ""} for n in range(10)]
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = run("infer", "r.jsonl", "--holdout", "0")
    assert done.code == 0
    assert "Not usable (10): the reply is empty." in done.err
    assert "No reply was held out" in done.err


def test_a_draft_that_refuses_held_out_replies_says_so(run: Run, tmp_path: Path) -> None:
    def called(number: int) -> dict[str, object]:
        call = {"id": "1", "type": "function", "function": {"name": f"tool_{number}", "arguments": "{}"}}
        return {"unit_id": str(number), "messages": [{"role": "assistant", "content": None, "tool_calls": [call]}]}

    (tmp_path / "r.jsonl").write_text("\n".join(json.dumps(called(n)) for n in range(50)))
    done = run("infer", "r.jsonl")
    assert done.code == 1
    assert "Fewer than 99 % pass. The others are refused by T001" in " ".join(done.err.split())


def test_a_draft_may_be_a_python_type_or_come_from_a_sift(run: Run, replies: Path) -> None:
    (replies.parent / "shop.py").write_text(
        "from dataclasses import dataclass\n@dataclass\nclass Order:\n    id: int\n"
    )
    done = run("infer", "shop:Order")
    assert done.code == 0
    assert "name: order\n" in done.out
    assert run("infer", "replies.jsonl", "-o", "people.yaml").code == 0
    assert run("sift", "replies.jsonl", "--contract", "people.yaml", "-o", "sifted").code in (0, 1)
    again = run("infer", "sifted")
    assert again.code == 0
    assert "from 101 replies" in again.out


def test_the_examples_give_drafts_that_lint_clean(run: Run, tmp_path: Path) -> None:
    assert run("infer", str(EXAMPLES / "replies" / "people.jsonl"), "-o", "draft.yaml").code == 0
    assert run("lint", "--strict", "draft.yaml").code == 0


def test_replies_may_come_from_standard_input_and_a_named_field(run: Run, tmp_path: Path) -> None:
    lines = "\n".join(json.dumps({"prompt": "?", "answer": f'Sure: {{"n": {n}}}'}) for n in range(20))
    done = run("infer", "-", "--reply-column", "answer", stdin=lines.encode())
    assert done.code == 0
    assert 'required: ["n"]' in done.out
    done = run("infer", "-", stdin=lines.encode())
    assert "required: [prompt, answer]" in done.out
    assert "each line was read as a value" in " ".join(done.err.split())
    assert run("infer", "-", "-", stdin=lines.encode()).code == 2
    done = run("infer", "-", "--reply-column", "nothing", stdin=lines.encode())
    assert done.code == 2
    assert "none of 20 replies can be used: the line has no reply; name the field" in done.err
