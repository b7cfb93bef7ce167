"""`trueup sift`, `schema`, `rules` and `revalidate` as a user runs them: exit codes, messages, clean streams, Ctrl-C."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.batch.sifting import SCHEMA, bytes_of, read_run, unit, write
from tests.cli.running import COMMAND, Run, clean_environment
from tests.waiting import wait_for

CANARY = "sk-canary-0123456789abcdef"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    write(tmp_path / "good.jsonl", [unit("a"), unit("b")])
    write(tmp_path / "mixed.jsonl", [unit("a"), unit("b", "no"), unit("c\x1b[31m\n", "no")])
    return tmp_path


@pytest.mark.spec("B21")
def test_exit_codes(run: Run, files: Path) -> None:
    assert run("sift", "good.jsonl", "-s", "s.json", "-o", "good").code == 0
    assert run("sift", "mixed.jsonl", "-s", "s.json", "-o", "mixed").code == 1
    assert run("sift", "mixed.jsonl", "-s", "s.json", "-o", "late", "--time-limit", "0.000001").code == 3
    for wrong in (
        ("sift", "good.jsonl", "-o", "x"),
        ("sift", "-s", "s.json", "-o", "x"),
        ("sift", "none.jsonl", "-s", "s.json", "-o", "x"),
        ("sift", "good.jsonl", "-s", "none.json", "-o", "x"),
        ("sift", "good.jsonl", "-c", "none.yaml", "-o", "x"),
        ("sift", "good.jsonl", "-c", "s.json", "-s", "s.json", "-o", "x"),
        ("sift", "good.jsonl", "-s", "s.json", "-o", "x", "--engine", "steam"),
        ("sift", "mixed.jsonl", "-s", "s.json", "-o", "good"),
        ("revalidate", "nowhere", "-s", "s.json"),
    ):
        ran = run(*wrong)
        assert ran.code == 2, (wrong, ran)
        assert "Traceback" not in ran.err
        assert not ran.out
        assert len(ran.err.splitlines()) <= 3


def test_standard_output_is_clean_and_the_summary_is_safe_to_print(run: Run, files: Path) -> None:
    ran = run("sift", "mixed.jsonl", "-s", "s.json", "-o", "out")
    assert ran.out == ""
    assert "1 of 3 units is valid, 2 failed." in ran.err
    assert "\x1b" not in ran.err
    assert "c\\x1b[31m\\n" in ran.err
    again = run("sift", "mixed.jsonl", "-s", "s.json", "-o", "out", "--json", "--progress", "none")
    assert (json.loads(again.out)["counts"]["failed"], again.err, again.code) == (2, "", 1)


@pytest.mark.spec("X24")
def test_progress_as_lines_and_as_json_is_one_event_a_line(run: Run, files: Path) -> None:
    ran = run("sift", "mixed.jsonl", "-s", "s.json", "-o", "out", "--progress", "json", "--json")
    events = [json.loads(line) for line in ran.err.splitlines()]
    assert events[-1]["units"] == 3
    assert {"step", "done", "total", "valid", "failed", "seconds", "codes"} <= events[-1].keys()


def test_a_bar_on_a_terminal_is_gone_at_the_end(run_on_terminal: Run, files: Path) -> None:
    ran = run_on_terminal("sift", "mixed.jsonl", "-s", "s.json", "-o", "out", "--workers", "1")
    assert ran.code == 1
    assert "judging" in ran.out
    assert ran.out.rstrip().splitlines()[-1].startswith("In out: validated.jsonl")


@pytest.mark.spec("B21")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_sift_says_how_to_resume_and_resumes(files: Path, run: Run, stop: signal.Signals) -> None:
    (files / "slow.py").write_text(
        "import time, pathlib\nfrom trueup import Contract\nclass Slow:\n    inner = Contract(True)\n"
        "    def check(self, reply, context=None):\n        pathlib.Path('begun').touch()\n"
        "        while pathlib.Path('hold').exists(): time.sleep(0.01)\n        return self.inner.check(reply)\nslow = Slow()\n"
    )
    (files / "hold").touch()
    os.mkfifo(files / "told")
    command = [*COMMAND, "sift", "good.jsonl", "-c", "slow:slow", "-o", "out", "--progress", "none"]
    child = subprocess.Popen(
        command, cwd=files, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_for((files / "begun").exists)
    child.send_signal(stop)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, b"")
    assert err.decode() == "Stopped. Completed work is kept: run the same command to resume.\n"
    (files / "hold").unlink()
    assert run("sift", "good.jsonl", "-c", "slow:slow", "-o", "out", "--progress", "none").code == 0
    assert len(read_run(files / "out").valid) == 2


@pytest.mark.spec("X25")
def test_no_secret_of_the_environment_is_in_any_file_or_message(run: Run, files: Path) -> None:
    (files / "check.py").write_text(
        "import os\nclass Check:\n    def check(self, reply, context=None):\n"
        "        raise ValueError('key is ' + os.environ['OPENAI_API_KEY'])\nmade = Check()\n"
    )
    tools = (
        run("sift", "good.jsonl", "-c", "check:made", "-o", "out", OPENAI_API_KEY=CANARY),
        run("sift", f"memory://user:{CANARY}@host/x.jsonl", "-s", "s.json", "-o", "two", OPENAI_API_KEY=CANARY),
        run(
            "sift",
            f"nope://user:{CANARY}@host/x.jsonl?sig={CANARY}",
            "-s",
            "s.json",
            "-o",
            "two",
            OPENAI_API_KEY=CANARY,
        ),
    )
    assert [ran.code for ran in tools] == [1, 2, 2]
    assert all(CANARY not in ran.out + ran.err for ran in tools)
    for path in files.rglob("*"):
        if path.is_file():
            assert CANARY.encode() not in path.read_bytes(), path


@pytest.mark.spec("B3")
def test_the_schema_filter_keeps_the_streams_apart(run: Run, files: Path) -> None:
    lines = [
        unit("a", '{"name": "Ada", "age": "36"}', model="m", _metadata={"k": 1}),
        unit("b", "no"),
        "",
        "[1]",
        json.dumps({"unit_id": "flat", "_metadata": 1, "retry_count": 2, "name": "Bo", "age": "7"}),
        json.dumps({"unit_id": "bad", "name": "Bo", "retry_count": 4}),
    ]
    ran = run("schema", "s.json", "--log", "coerced.log", stdin="\n".join(lines))
    assert ran.code == 1
    valid = [json.loads(line) for line in ran.out.splitlines()]
    failed = [json.loads(line) for line in ran.err.splitlines()]
    assert valid[0]["data"] == {"name": "Ada", "age": 36}
    assert (valid[0]["model"], valid[0]["_metadata"], valid[0]["input"]) == ("m", {"k": 1}, {"n": 1})
    assert valid[1].pop("_trueup")["raw_response"] == lines[4]
    assert valid[1] == {"unit_id": "flat", "_metadata": 1, "retry_count": 2, "name": "Bo", "age": 7}
    assert [(row["unit_id"], row["failure_stage"]) for row in failed] == [
        ("b", "parse"),
        ("stdin@188", "pipeline_internal"),
        ("bad", "schema_validation"),
    ]
    assert failed[-1]["retry_count"] == 4
    log = (files / "coerced.log").read_text("utf-8").splitlines()
    assert log == ['[COERCE] age: "36" → 36 (string → int)', '[COERCE] age: "7" → 7 (string → int)']


@pytest.mark.spec("B5", "B6")
def test_both_filters_in_a_pipe_judge_like_a_sift(files: Path) -> None:
    (files / "r.yaml").write_text(
        "validation:\n  people:\n    required: [name]\n    ranges: {age: [0, 120]}\n"
        "    rules:\n      - {name: grown, expr: age >= n, error: '{age} is under {n}'}\n"
        "      - {name: short, expr: len(name) < 3, level: warning}\n"
    )
    write(
        files / "in.jsonl",
        [unit("a", '{"name": "Ada", "age": "36"}'), unit("b", '{"name": "B", "age": "0"}'), unit("c", "no")],
    )
    trueup = " ".join(COMMAND)
    script = f"{trueup} schema s.json < in.jsonl 2> one | {trueup} rules r.yaml --step people > valid 2> two"
    subprocess.run(["bash", "-c", script], cwd=files, env=clean_environment(), check=False, timeout=60)
    (valid,) = [json.loads(line) for line in (files / "valid").read_text().splitlines()]
    assert (valid["unit_id"], valid["data"]["age"]) == ("a", 36)
    assert [error["rule"] for error in valid["warnings"]] == ["short"]
    (failed,) = [json.loads(line) for line in (files / "two").read_text().splitlines()]
    assert (failed["unit_id"], failed["failure_stage"], failed["errors"][0]["message"]) == (
        "b",
        "validation",
        "0 is under 1",
    )
    assert json.loads((files / "one").read_text())["unit_id"] == "c"


@pytest.mark.spec("B19")
def test_a_filter_neither_hangs_nor_delays_output(files: Path) -> None:
    """Output arrives before the input ends, and a lot of input does not block."""
    child = subprocess.Popen([*COMMAND, "schema", "s.json"], cwd=files, env=clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(unit("a").encode() + b"\n")
    child.stdin.flush()
    assert json.loads(child.stdout.readline())["unit_id"] == "a"
    many = "".join(unit(f"u{n}") + "\n" for n in range(3000)).encode()
    out, _ = child.communicate(many, timeout=60)
    assert out.count(b"\n") == 3000
    assert child.returncode == 0


@pytest.mark.spec("B19", "B21")
@pytest.mark.parametrize("command", [("schema", "s.json"), ("rules", "r.yaml")])
def test_a_filter_that_waits_for_input_stops_when_its_time_is_over(files: Path, command: tuple[str, str]) -> None:
    """No more input arrives, and the pipe stays open: half a line is not judged."""
    (files / "r.yaml").write_text("required: [name]\n")
    reading, writing = os.pipe()
    os.write(writing, b'{"unit_id": "half", "na')
    done = subprocess.run(
        [*COMMAND, *command, "--timeout", "0.5"],
        stdin=reading,
        capture_output=True,
        cwd=files,
        env=clean_environment(),
        timeout=120,
        check=False,
    )
    os.close(reading)
    os.close(writing)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"", b"")


def test_a_sift_continues_after_the_reader_has_gone(files: Path) -> None:
    for progress in ("json", "plain"):
        reading, writing = os.pipe()
        os.close(reading)  # every write to it raises a broken pipe
        command = [*COMMAND, "sift", "mixed.jsonl", "-s", "s.json", "-o", progress, "--progress", progress]
        done = subprocess.run(command, cwd=files, env=clean_environment(), stderr=writing, timeout=60, check=False)
        os.close(writing)
        assert (done.returncode, len(read_run(files / progress).failed)) == (1, 2)


def test_errors_of_a_sift_are_reported_before_anything_is_judged(run: Run, run_on_terminal: Run, files: Path) -> None:
    write(files / "in.jsonl", [unit("a")])
    (files / "people.yaml").write_text("schema: {type: object}\n")
    by = ("--schema", "s.json", "--out", "out")
    for wrong, says in (
        (("in.jsonl", *by, "--table", "t.xlsx"), "--table t.xlsx: give a file that ends in .csv or .jsonl"),
        (
            ("in.jsonl", "-s", "s.json", "-o", "s3://bucket/out"),
            "s3://bucket/out: results are written to a local folder",
        ),
        (("in.jsonl", *by, "--engine", "spark"), "--engine spark: unknown engine; choose local or ray[:ADDRESS]"),
        (
            ("in.jsonl", *by, "--contract", "people.yaml"),
            "--contract already decides this: leave out --schema, or give",
        ),
        (("in.jsonl", "--contract", "people.yml", "--out", "out"), "did you mean 'people.yaml'?"),
    ):
        ran = run("sift", *wrong)
        assert ran.code == 2, wrong
        assert says in ran.err
    typed = run_on_terminal("sift", "-", *by)
    assert (typed.code, "'-' is standard input: pipe a JSONL file in" in typed.out) == (2, True)
    assert not (files / "out").exists()
    assert not (files / "s3:").exists()


def test_filters_report_their_errors(run: Run, files: Path) -> None:
    (files / "bad.yaml").write_text("rules:\n  - {name: x, expr: '1 +'}\n")
    (files / "none.yaml").write_text("7\n")
    (files / "contract.yaml").write_text("name: person\nschema: {type: object}\n")
    (files / "steps.yaml").write_text("validation:\n  split: {required: [a]}\n  grade: {required: [b]}\n")
    for wrong, says in (
        (("schema", "none.json"), "no such file"),
        (("schema", '{"type": 5}'), "type"),
        (("rules", "bad.yaml"), "bad.yaml"),
        (("rules", "none.yaml"), "validation"),
        (("rules", "missing.yaml"), "missing.yaml"),
        (("schema", "gone.json"), "SCHEMA gone.json: there is no such file"),
        (("rules", "contract.yaml"), "contract.yaml: there are no rules in it; give a file with"),
        (("rules", "steps.yaml"), "steps.yaml: its rules are grouped by step; choose one with --step: split, grade"),
        (("rules", "steps.yaml", "--step", "spilt"), "has no such step (there: split, grade)"),
    ):
        ran = run(*wrong)
        assert ran.code == 2, wrong
        assert says in ran.err
        assert "Traceback" not in ran.err
    assert run("schema", "s.json", "--timeout", "0.0000001", stdin=unit("a") + "\n" + unit("b")).code == 3


def test_rules_reads_the_rules_of_a_contract(run: Run, files: Path) -> None:
    for given in ("[{name: adult, expr: age >= 18}]", "{rules: [{name: adult, expr: age >= 18}]}"):
        (files / "contract.yaml").write_text(f"name: person\nschema: {{type: object}}\nrules: {given}\n")
        ran = run("rules", "contract.yaml", stdin='{"unit_id": "a", "age": 3}\n{"unit_id": "b", "age": 30}\n')
        assert (ran.code, ran.out) == (1, '{"unit_id": "b", "age": 30}\n'), ran.err
        assert "adult" in ran.err


@pytest.mark.spec("B14", "X5")
def test_revalidate_shows_flips_of_units_with_ids_that_are_not_text(run: Run, files: Path) -> None:
    write(files / "odd.jsonl", [unit("a\ud800", '{"name": "Ada", "age": "36"}')])
    assert run("sift", "odd.jsonl", "-s", "s.json", "-o", "odd").code == 0
    again = run("revalidate", "odd", "-s", '{"type": "object", "required": ["x"]}')
    assert (again.code, "valid → failed\n  a<U+D800>  V002 $.x" in again.err) == (1, True), again.err


@pytest.mark.spec("B14")
def test_revalidate_shows_what_flips_and_writes_both_sets(run: Run, files: Path) -> None:
    error = json.dumps({"custom_id": "r", "response": None, "error": {"code": "batch_expired", "message": "late"}})
    lines = [
        unit("old", '{"name": "Ada", "age": 90}'),
        unit("odd", '{"name": "Bo", "age": -3}'),
        unit("no", "no"),
        "[1]",
        unit("old"),
        error,
    ]
    write(files / "in.jsonl", [*lines, unit("same"), unit("text", '{"name": "x", "age": 1}')])
    assert run("sift", "in.jsonl", "-s", "s.json", "-o", "out", "--progress", "none").code == 1
    before = bytes_of(files / "out")
    newer = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"maximum": 80}}, "required": ["name"]}
    (files / "new.json").write_text(json.dumps(newer))
    ran = run("revalidate", "out", "-s", "new.json", "-o", "again")
    assert ran.code == 1
    assert "failed → valid" in ran.err
    assert bytes_of(files / "out") == before
    flips = [json.loads(line) for line in (files / "again" / "flips.jsonl").read_text().splitlines()]
    assert [(row["unit_id"], row["was"], row["now"]) for row in flips] == [
        ("old", "valid", "failed"),
        ("odd", "failed", "valid"),
    ]
    assert flips[0]["errors_now"][0]["code"] == "V004"
    assert flips[1]["errors_before"][0]["code"] == "V004"
    now = read_run(files / "again")
    assert [row["unit_id"] for row in now.valid] == ["same", "text", "odd"]
    assert sorted(now.codes) == ["in.jsonl@" + str(place_of(files, b"[1]")), "no", "old", "r"]
    assert now.summary["flips"] == {"failed_to_valid": 1, "same": 6, "valid_to_failed": 1}


def place_of(files: Path, line: bytes) -> int:
    return (files / "in.jsonl").read_bytes().index(b"\n" + line + b"\n") + 1


def test_the_tables_of_a_result_fit_a_narrow_terminal(run_on_terminal: Run, files: Path) -> None:
    write(files / "long.jsonl", [unit("an-id-that-is-longer-than-the-others", "no"), unit("b", "no")])
    done = run_on_terminal("sift", "long.jsonl", "-s", "s.json", "-o", "out", "--workers", "1", width=40)
    tables = [line for line in done.out.partition("Failed at")[2].splitlines() if line.startswith("  ")]
    assert any(line.endswith("…") for line in tables)
    assert max(map(len, tables)) <= 40
