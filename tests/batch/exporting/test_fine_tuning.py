"""Fine-tuning files: valid pairs of prompt and reply, from sifted folders and from runs, in the formats of training services."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.batch.pipeline.making import GOOD, asking, reply, run_pipeline, start, write_pipeline
from tests.cli.conftest import run, starter
from tests.cli.running import Run
from trueup.batch.exporting.pairs import is_held_out

__all__ = ["run", "starter"]

SCHEMA = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def sift(run: Run, folder: Path, *units: dict[str, Any], options: tuple[str, ...] = ()) -> None:
    (folder / "s.json").write_text(json.dumps(SCHEMA))
    (folder / "u.jsonl").write_text("".join(json.dumps(unit) + "\n" for unit in units))
    assert run("sift", "u.jsonl", "-s", "s.json", "-o", "out", "-w", "1", *options).code in (0, 1)


def unit(uid: str, given: Any, text: str) -> dict[str, Any]:
    return {"unit_id": uid, "input": given, "raw_response": text}


ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How old?"}]
FENCED = 'Sure!\n```json\n{"age": "7"}\n```'


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("openai", {"messages": [*ASKED, {"role": "assistant", "content": '{"age": 7}'}]}),
        ("anthropic", {"system": "Be brief.", "messages": [ASKED[1], {"role": "assistant", "content": '{"age": 7}'}]}),
        (
            "gemini",
            {
                "systemInstruction": {"role": "system", "parts": [{"text": "Be brief."}]},
                "contents": [
                    {"role": "user", "parts": [{"text": "How old?"}]},
                    {"role": "model", "parts": [{"text": '{"age": 7}'}]},
                ],
            },
        ),
        ("completion", {"prompt": ASKED, "completion": [{"role": "assistant", "content": '{"age": 7}'}]}),
    ],
)
def test_a_pair_in_each_format_contains_the_conformed_value(run: Run, tmp_path: Path, to: str, expected: Any) -> None:
    sift(run, tmp_path, unit("a", {"messages": ASKED}, FENCED), unit("b", {"messages": ASKED}, "no idea"))
    ran = run("export", "out", "--to", to, "-o", "train.jsonl")
    assert ran.code == 0, ran
    assert lines(tmp_path / "train.jsonl") == [expected]
    assert "1 pair in train.jsonl" in ran.out


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ("How old?", ()),
        ({"prompt": "How old?"}, ()),
        ({"question": "How old?", "other": 1}, ()),
        ({"body": {"messages": [ASKED[1]]}}, ()),
        ({"a": {"b": "How old?"}, "prompt": "not this one"}, ("--prompt", "a.b")),
    ],
)
def test_the_prompt_is_found_in_the_usual_fields_or_in_the_named_one(
    run: Run, tmp_path: Path, given: Any, options: tuple[str, ...]
) -> None:
    sift(run, tmp_path, unit("a", given, FENCED))
    assert run("export", "out", "--to", "completion", "-o", "t.jsonl", *options).code == 0
    assert lines(tmp_path / "t.jsonl") == [{"prompt": "How old?", "completion": '{"age": 7}'}]


def test_units_without_a_prompt_are_counted_and_the_message_says_what_to_do(run: Run, tmp_path: Path) -> None:
    sift(run, tmp_path, unit("a", {"id": 5}, FENCED), unit("b", None, FENCED))
    ran = run("export", "out", "-o", "t.jsonl")
    assert ran.code == 1
    assert "0 pairs in t.jsonl" in ran.out
    assert "2 units left out: no prompt in the input" in ran.out
    assert ran.out.endswith(": --prompt FIELD\n")


def test_a_pair_may_have_a_system_message_and_the_original_reply(run: Run, tmp_path: Path) -> None:
    sift(run, tmp_path, unit("a", "How old?", FENCED))
    assert run("export", "out", "-o", "t.jsonl", "--system", "Be brief.", "--as-written").code == 0
    assert lines(tmp_path / "t.jsonl") == [{"messages": [*ASKED, {"role": "assistant", "content": FENCED}]}]


def test_messages_with_more_than_text_are_exported_only_to_formats_that_allow_them(run: Run, tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "How old?"}, {"type": "image_url", "image_url": {"url": "x"}}]
    sift(run, tmp_path, unit("a", {"messages": [{"role": "user", "content": parts}]}, FENCED))
    assert run("export", "out", "-o", "t.jsonl").code == 0
    assert lines(tmp_path / "t.jsonl")[0]["messages"][0]["content"] == parts
    ran = run("export", "out", "-o", "t.jsonl", "--to", "gemini")
    assert ran.code == 1
    assert "1 unit left out: its messages have more than text" in ran.out


def test_a_merged_unit_gives_a_preference_pair_with_its_refused_reply(run: Run, tmp_path: Path) -> None:
    sift(
        run, tmp_path, unit("a", "How old?", "no idea"), unit("a", "How old?", FENCED), unit("b", "And you?", FENCED),
        options=("--merge", "valid"),
    )  # fmt: skip
    ran = run("export", "out", "-o", "t.jsonl", "--to", "completion", "--preference")
    assert ran.code == 0, ran
    assert lines(tmp_path / "t.jsonl") == [{"prompt": "How old?", "chosen": '{"age": 7}', "rejected": "no idea"}]
    assert "1 unit left out: no reply to its prompt was refused" in ran.out


def npc(tmp_path: Path) -> Path:
    """A run in which one unit is valid immediately, one at the second attempt, and one never."""
    steps = [
        asking("ask", NUMBER, "Number of {{ unit_id }}?", {"required": ["n"], "ranges": {"n": [0, 10]}}),
        asking("more"),
    ]
    replies = [
        *reply("ask", "a", "```\n{'n': '1'}\n```"), *reply("ask", "b", "no", '{"n": 2}'), *reply("ask", "c", *["no"] * 3),
        *reply("more", "a", '{"answer": "x"}'), *reply("more", "b", '{"answer": "x"}'),
    ]  # fmt: skip
    return run_pipeline(write_pipeline(tmp_path / "pipeline", steps, replies=replies), tmp_path / "run").path


@pytest.mark.spec("B17")
def test_a_run_gives_its_prompts_with_the_valid_replies(run: Run, tmp_path: Path) -> None:
    npc(tmp_path)
    ran = run("export", "run", "--step", "ask", "--to", "completion", "-o", "t.jsonl")
    assert ran.code == 0, ran
    assert lines(tmp_path / "t.jsonl") == [
        {"prompt": "Number of a?", "completion": '{"n": 1}'},
        {"prompt": "Number of b?", "completion": '{"n": 2}'},
    ]
    ran = run("export", "run", "--step", "ask", "-o", "t.jsonl", "--preference")
    assert lines(tmp_path / "t.jsonl") == [
        {
            "input": {"messages": [{"role": "user", "content": "Number of b?"}]},
            "preferred_output": [{"role": "assistant", "content": '{"n": 2}'}],
            "non_preferred_output": [{"role": "assistant", "content": "no"}],
        }
    ]


def test_a_unit_that_a_retry_made_valid_is_a_pair(run: Run, tmp_path: Path) -> None:
    path = npc(tmp_path)
    (path / "config/replies.jsonl").write_text(
        json.dumps(reply("ask", "c", *["no"] * 3, '{"n": 3}')[-1]) + "\n", "utf-8"
    )
    rows = reply("ask", "c", "no", "no", "no", '{"n": 3}')
    (path / "config/replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert run("retry", "run", "--attempts", "5").code == 0
    run("run", "run")
    assert run("export", "run", "--step", "ask", "--to", "completion", "-o", "t.jsonl", "--preference").code == 0
    assert {"prompt": "Number of c?", "chosen": '{"n": 3}', "rejected": "no"} in lines(tmp_path / "t.jsonl")


def test_refused_replies_are_not_exported(run: Run, tmp_path: Path) -> None:
    path = npc(tmp_path)
    schema = path / "config/schemas/ask.json"
    schema.write_text(json.dumps({**NUMBER, "properties": {"n": {"type": "integer", "minimum": 2}}}))
    ran = run("export", "run", "--step", "ask", "--to", "completion", "-o", "t.jsonl")
    assert [row["completion"] for row in lines(tmp_path / "t.jsonl")] == ['{"n": 2}']
    assert "1 unit left out: the contract refuses its reply" in ran.out


def test_held_out_pairs_are_a_share_and_no_pair_is_in_both_files(run: Run, tmp_path: Path) -> None:
    sift(run, tmp_path, *(unit(f"u{n}", f"Question {n}", FENCED) for n in range(300)))
    ran = run("export", "out", "--to", "completion", "-o", "t.jsonl", "--held-out", "v.jsonl", "--share", "0.2")
    assert ran.code == 0, ran
    train, held = ({row["prompt"] for row in lines(tmp_path / name)} for name in ("t.jsonl", "v.jsonl"))
    assert len(train | held) == 300
    assert not train & held
    assert 30 <= len(held) <= 90  # 60, within four standard deviations


@given(st.text(min_size=1, max_size=20), st.integers(0, 9999), st.integers(0, 999), st.floats(0.01, 0.99))
def test_all_pairs_of_a_unit_are_on_the_same_side_of_the_split(
    name: str, repetition: int, item: int, share: float
) -> None:
    side = is_held_out(name, share)
    assert is_held_out(f"{name}__rep{repetition:04d}", share) == side
    assert is_held_out(f"{name}__rep{repetition:04d}__fan{item:03d}", share) == side
    assert side <= is_held_out(name, min(1.0, share + 0.01)), "a larger share holds out the same ones"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["run", "-o", "t.jsonl"], "several steps ask a model; name one with --step: ask, more"),
        (["run", "--step", "aks", "-o", "t.jsonl"], "no step 'aks' asks a model: ask, more"),
        (["run", "--step", "ask", "--prompt", "x", "-o", "t.jsonl"], "--prompt is for sifted folders"),
        (["nothing", "-o", "t.jsonl"], "nothing: there is no validated.jsonl"),
        (["pipeline", "--step", "x", "-o", "t.jsonl"], "--step is for runs"),
        (["run", "--step", "ask", "-o", "no/such/t.jsonl"], "there is no folder no/such"),
        (["run", "--step", "ask", "-o", "t.jsonl", "--share", "0.5"], "--share needs --held-out FILE"),
        (["run", "--step", "ask", "-o", "t.jsonl", "--held-out", "t.jsonl"], "name the same file"),
        (["run", "--step", "ask", "-o", "t.jsonl", "--held-out", "run/../t.jsonl"], "name the same file"),
        (["run", "--step", "ask", "-o", "run/journal.jsonl"], "--out run/journal.jsonl: that is inside the run run"),
        (
            ["run", "--step", "ask", "-o", "t.jsonl", "--held-out", "run/chunks/chunk_000/x"],
            "that is inside the run run",
        ),
        (["run", "--step", "ask", "-o", "t.jsonl", "--to", "gemini", "--preference"], "use openai or completion"),
    ],
)
def test_an_impossible_export_is_a_clear_error(run: Run, tmp_path: Path, args: list[str], message: str) -> None:
    npc(tmp_path)
    ran = run("export", *args)
    assert ran.code == 2, ran
    assert message in ran.err
    assert not (tmp_path / "t.jsonl").exists()


def test_an_earlier_file_stays_until_the_new_one_is_complete(run: Run, tmp_path: Path) -> None:
    npc(tmp_path)
    (tmp_path / "t.jsonl").write_text("before")
    assert run("export", "run", "--step", "aks", "-o", "t.jsonl").code == 2
    assert (tmp_path / "t.jsonl").read_text() == "before"
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


@pytest.mark.parametrize("to", ["openai", "anthropic", "gemini", "completion"])
def test_lines_that_are_not_records_are_counted_whatever_they_contain(run: Run, tmp_path: Path, to: str) -> None:
    good: dict[str, Any] = {"unit_id": "a", "input": "p\ud800", "raw_response": "{}", "data": {"n": 10**400}}
    odd: list[dict[str, Any]] = [{"merged": "x"}, {"merged": ["x"]}, {"unit_id": None}, {"raw_response": 7}]
    damaged = [
        *(json.dumps(good | more) for more in odd),
        "[]",
        "null",
        '{"unit_id": "cut',
        f"{'[' * 9**5}{']' * 9**5}",
    ]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "validated.jsonl").write_text("".join(f"{line}\n" for line in [json.dumps(good), *damaged]))
    ran = run("export", "out", "--to", to, "-o", "t.jsonl")
    assert ran.code == 0, ran
    assert ran.out.splitlines() == ["1 pair in t.jsonl", "8 units left out: its line is not a record of a sift"]


def test_the_hint_to_name_the_prompt_is_only_for_sifted_folders(run: Run, tmp_path: Path) -> None:
    npc(tmp_path)
    ran = run("export", "run", "--step", "more", "--preference", "-o", "t.jsonl")
    assert (ran.code, "no reply to its prompt was refused" in ran.out) == (1, True), ran
    assert "--prompt FIELD" not in ran.out + ran.err
    for file in (tmp_path / "run" / "chunks").glob("*/ask_prompts.jsonl"):
        file.unlink()
    ran = run("export", "run", "--step", "ask", "-o", "t.jsonl")
    assert ran.code == 1, ran
    assert "its prompt or its reply is not recorded" in ran.out
    assert "--prompt FIELD" not in ran.out + ran.err


@pytest.mark.parametrize("name", ["validated.jsonl", "failures.jsonl", "summary.json", "validated.csv"])
@pytest.mark.parametrize("option", ["--out", "--held-out"])
def test_an_export_never_replaces_results(run: Run, tmp_path: Path, name: str, option: str) -> None:
    sift(run, tmp_path, unit("a", "How old?", '{"age": 7}'), unit("b", "How old?", "no"))
    (tmp_path / "out/validated.csv").write_text("as `--format csv` writes it")
    before = (tmp_path / "out" / name).read_bytes()
    (tmp_path / "link").symlink_to(tmp_path / "out" / name)
    for path in (f"out/{name}", "link"):
        other = [] if option == "--out" else ["--out", "t.jsonl"]
        refused = run("export", "out", option, path, *other)
        assert refused.code == 2
        assert f"{option} {path}: that is a file of a sift; choose another name" in refused.err
    assert (tmp_path / "out" / name).read_bytes() == before
    assert run("export", "out", "-o", "out/train.jsonl").code == 0


def test_an_unfinished_run_is_reported(run: Run, tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path / "p", [asking("ask")], replies=reply("ask", "*", GOOD))
    start(pipeline, tmp_path / "run")
    ran = run("export", "run", "-o", "t.jsonl")
    assert (ran.code, ran.out.splitlines()) == (
        1,
        ["0 pairs in t.jsonl", "the run is not started: units that have not passed the step are not exported"],
    )
    run_pipeline(pipeline, tmp_path / "over")
    assert run("export", "over", "-o", "t.jsonl").out == "3 pairs in t.jsonl\n"
