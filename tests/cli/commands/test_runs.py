"""The commands for runs, as a person or a script runs them: their output and their exit codes."""

import json
import os
import pty
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.running import COMMAND, Ran, Run, clean_environment, read_all
from tests.waiting import wait_for
from trueup.batch.pipeline.rundir.directory import PAUSE, OwnedRun
from trueup.cli.main import main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "pipelines"


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate folder with the example pipelines."""
    shutil.copytree(EXAMPLES, tmp_path / "pipelines")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run() -> Run:
    """The command in this process, so that many calls are fast."""

    def call(*args: str) -> Ran:
        done = CliRunner().invoke(main, list(args))
        return Ran(done.exit_code, done.stdout, done.stderr)

    return call


@pytest.mark.spec("B20")
def test_a_pipeline_is_run_and_inspected(run: Run) -> None:
    done = run("run", "pipelines/random_walk", "--run-dir", "runs/walk")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "runs/walk  done\n"
        "step   valid  failed  retried  pending  cost  failures by code\n"
        "walk     150       0        0        0     -  -\n"
        "judge    150       0        0        0     -  -\n"
        "runs/walk/validated.jsonl (failures.jsonl next to it)\n"
    )
    page = run("report", "runs/walk")
    assert (page.code, page.out) == (0, "runs/walk/report.html\n")
    assert run("verify", "walk").out == (
        "✓ 150 units, 2 chunks: every unit is present once at every step\n"
        "✓ 300 of 300 stored outcomes judged again: all agree with the contract\n"
    )
    assert run("status").out == done.out[: done.out.rindex("runs/walk")]
    (found,) = json.loads(run("status", "walk", "--json").out)
    assert (found["status"], found["running"], found["valid"], found["steps"][0]["step"]) == (
        "done",
        False,
        150,
        "walk",
    )


def test_a_pipeline_is_run_although_a_run_has_its_name(run: Run, desk: Path) -> None:
    shutil.copytree(desk / "pipelines" / "random_walk", desk / "walk")
    assert run("run", "walk", "--run-dir", "runs/walk", "--max-units", "2", "-q").code == 0
    again = run("run", "walk", "--run-dir", "runs/other", "--max-units", "2", "-q")
    assert (again.code, again.err) == (0, "")
    assert again.out.startswith("runs/other  done")
    assert run("run", "other", "-q").out.startswith("runs/other  done"), "a run is still found by its name"


@pytest.mark.spec("B21")
def test_exit_codes_show_how_it_ended(run: Run) -> None:
    assert run("run", "pipelines/npc_dialogue", "--run-dir", "runs/npc").code == 1
    assert run("run", "pipelines/none").code == 2
    assert run("run", "runs/npc", "--model", "x").code == 2
    assert run("run", "pipelines/npc_dialogue", "--provider", "opnai").err.endswith("did you mean 'openai'?\n")
    assert run("status", "nothing").code == 2
    for wrong in (("--max-cost", "-1"), ("--max-cost", "nan"), ("--poll", "0"), ("--timeout", "0s")):
        assert (run("run", "pipelines/npc_dialogue", *wrong).code, wrong) == (2, wrong)
    assert run("verify", "pipelines/reviews").err.endswith("`trueup run pipelines/reviews` starts one\n")
    assert run("pause", "npc").code == 2
    assert run("kill", "npc").err.endswith("no process is running it\n")


@pytest.mark.spec("B12")
def test_failures_are_retried(run: Run) -> None:
    run("run", "pipelines/npc_dialogue", "--run-dir", "runs/npc")
    done = run("retry", "npc")
    assert (done.code, done.out) == (1, "1 unit used all 3 attempts; --attempts 5 allows more\nnothing to retry\n")
    other = ("--code", "V001", "--path", "$.nowhere")
    done = run("retry", "npc", "--attempts", "4", *other)
    assert (done.code, done.out) == (0, "nothing to retry: no failure matches --code V001 --path $.nowhere\n")
    (failure,) = [json.loads(line) for line in Path("runs/npc/failures.jsonl").read_bytes().splitlines()]
    cause = failure["errors"][0]
    done = run("retry", "npc", "--attempts", "4", "--code", cause["code"], "--path", cause["path"], "--start")
    assert done.code == 0
    assert done.out.startswith("1 unit to retry in retry_000\nruns/npc  done\n")
    assert run("retry", "npc").out == "nothing to retry\n"
    assert run("retry", "npc", "--step", "nope").code == 2
    assert run("repair", "npc").out == "nothing to repair\n"


def test_a_run_is_made_first_and_run_later(run: Run) -> None:
    done = run("init", "pipelines/reviews", "--run-dir", "runs/r", "--max-units", "2")
    assert done.out == "runs/r: 2 units in 1 chunk, split → each → grade → weigh\n"
    done = run("run", "runs/r", "--json")
    assert done.code == 0
    assert json.loads(done.out)["valid"] == 5
    assert run("init", "pipelines/reviews", "--run-dir", "runs/r").err.endswith(
        "or resume the run in it with `trueup run`\n"
    )


def test_errors_in_a_pipeline_are_reported_before_anything_is_made(run: Run, desk: Path) -> None:
    config = desk / "pipelines/reviews/config.yaml"
    config.write_text(config.read_text("utf-8").replace("grade.jinja2", "grad.jinja2"), "utf-8")
    done = run("run", "pipelines/reviews")
    assert done.code == 2
    assert "pipelines/reviews/config.yaml:34:43: N032 there is no template" in done.err
    assert not (desk / "runs").exists()
    assert run("lint", "pipelines/reviews").code == 1
    assert run("lint", "pipelines/random_walk").out == "✓ 1 file: nothing wrong\n"


def test_a_models_text_cannot_harm_the_terminal(run: Run, desk: Path) -> None:
    replies = desk / "pipelines/reviews/replies.jsonl"
    rows = [json.loads(line) for line in replies.read_text("utf-8").splitlines()]
    rows[0]["raw_response"] = "\x1b]0;owned\x07\x1b[2J no JSON [/red] here"
    replies.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done = run("run", "pipelines/reviews", "--run-dir", "runs/r")
    assert "\x1b" not in done.out + done.err
    assert b"\x1b" not in b"".join(path.read_bytes() for path in (desk / "runs/r").glob("*.txt"))


def slow(desk: Path, seconds: float = 0.4) -> None:
    config = desk / "pipelines/npc_dialogue/config.yaml"
    text = config.read_text("utf-8").replace("replies.jsonl}", f"replies.jsonl, delay_seconds: {seconds}}}")
    config.write_text(text.replace("chunk_size: 4", "chunk_size: 1"), "utf-8")


@pytest.mark.spec("B21")
def test_ctrl_c_lets_calls_finish_and_the_run_resumes_later(run: Run, desk: Path) -> None:
    slow(desk)
    command = [*COMMAND, "run", "pipelines/npc_dialogue", "--run-dir", "runs/npc", "-j", "1"]
    process = subprocess.Popen(
        command, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for((desk / "runs/npc/chunks/chunk_000/speak_results.jsonl").exists)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "interrupted; run it again to resume" in out
    done = run("run", "runs/npc")
    assert done.code == 1
    assert run("verify", "npc").code == 0


def test_a_run_is_killed_by_its_lock_and_resumes(run: Run, desk: Path) -> None:
    slow(desk, 60)
    command = [*COMMAND, "run", "pipelines/npc_dialogue", "--run-dir", "runs/npc", "-q"]
    process = subprocess.Popen(command, env=clean_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for((desk / "runs/npc/chunks/chunk_000/speak_prompts.jsonl").exists)
    assert run("run", "runs/npc").err.endswith("wait, or `trueup pause` it\n")
    assert run("status", "npc").out.startswith("runs/npc  running\n")
    done = run("kill", "npc")
    assert done.code == 0
    assert done.out.endswith("was ended; `trueup run runs/npc` resumes it\n")
    assert process.wait(60) == -signal.SIGKILL
    assert run("status", "npc").out.startswith("runs/npc  stopped\n")
    assert run("verify", "npc").code == 0
    assert run("kill", "npc").code == 2


def test_a_time_limit_stops_and_says_so(run: Run, desk: Path) -> None:
    slow(desk)
    done = run("run", "pipelines/npc_dialogue", "--run-dir", "runs/npc", "--timeout", "0.5s", "-j", "1")
    assert done.code == 3
    assert "the time limit of 0.5 seconds was reached" in done.out
    assert run("run", "runs/npc", "--timeout", "soon").code == 2


@pytest.mark.spec("B20")
def test_a_bar_on_a_terminal_shows_counts_rates_and_failures(desk: Path) -> None:
    slow(desk)
    terminal, end = pty.openpty()
    command = [*COMMAND, "run", "pipelines/npc_dialogue", "--run-dir", "runs/npc", "-j", "2"]
    process = subprocess.Popen(command, env=clean_environment(), stdout=subprocess.DEVNULL, stderr=end)
    os.close(end)
    shown = read_all(terminal).decode("utf-8", "replace")
    os.close(terminal)
    process.wait(60)
    assert "of 12" in shown
    assert "failed" in shown
    assert "/s" in shown
    assert "left" in shown
    assert "V005×1" in shown


@pytest.mark.spec("B14")
def test_a_run_is_judged_again_under_a_changed_pipeline(run: Run, desk: Path) -> None:
    run("run", "pipelines/npc_dialogue", "--run-dir", "runs/npc")
    assert run("revalidate", "runs/npc").out.endswith("11 replies judged again, 0 flip\n")
    for file in ("config.yaml", "schemas/speak.json"):
        path = desk / "pipelines/npc_dialogue" / file
        text = path.read_text("utf-8").replace("nervous, hostile]", "nervous, hostile, worried]")
        path.write_text(text.replace('"hostile"\n', '"hostile", "worried"\n'), "utf-8")
    done = run("revalidate", "runs/npc", "--pipeline", "pipelines/npc_dialogue", "--apply")
    assert done.code == 0
    assert done.out.startswith("failed → valid: 1 unit\n  speak  pedlar-desperate  V005 $.tone\n")
    assert done.out.endswith("1 unit resumes: `trueup run runs/npc`\n")
    assert run("run", "runs/npc").code == 0
    assert run("verify", "npc").code == 0
    assert run("revalidate", "pipelines", "--apply").code == 2


def stricter(desk: Path) -> None:
    """One tone is not allowed any more."""
    for file in ("config.yaml", "schemas/speak.json"):
        path = desk / "pipelines/npc_dialogue" / file
        text = path.read_text("utf-8").replace("nervous, hostile]", "hostile]").replace('        "nervous",\n', "")
        path.write_text(text, "utf-8")


@pytest.mark.spec("B14")
def test_after_a_stricter_pipeline_is_applied_everything_agrees_with_it(run: Run, desk: Path) -> None:
    run("run", "pipelines/npc_dialogue", "--run-dir", "runs/npc")
    run("report", "runs/npc")
    stricter(desk)
    before = len((desk / "runs/npc/validated.jsonl").read_text().splitlines())
    done = run("revalidate", "runs/npc", "--pipeline", "pipelines/npc_dialogue", "--apply")
    assert done.code == 1
    assert "valid → failed: 1 unit\n" in done.out
    assert "1 unit moved to the failures; 1 later result withdrawn\n" in done.out
    (status,) = json.loads(run("status", "runs/npc", "--json").out)
    assert status["valid"] == before - 1 == len((desk / "runs/npc/validated.jsonl").read_text().splitlines())
    assert status["failed"] == len((desk / "runs/npc/failures.jsonl").read_text().splitlines()) == 2
    assert [(row["valid"], row["failed"]) for row in status["steps"]] == [(4, 2), (4, 0)]
    assert f'"failed":{status["failed"]}' in (desk / "runs/npc/report.html").read_text("utf-8").replace(" ", "")
    checked = run("verify", "npc", "--all")
    assert (checked.code, checked.out.count("✓")) == (0, 2)
    again = run("revalidate", "runs/npc", "--pipeline", "pipelines/npc_dialogue", "--apply", "--json")
    assert json.loads(again.out)["applied"] == {"units": 0, "chunks": [], "refused": 0, "withdrawn": 0}


@pytest.mark.spec("B14")
def test_a_run_is_revalidated_by_its_name(run: Run, desk: Path) -> None:
    """As `verify` advises. It takes a name too, and ignores a folder with that name that is not a run."""
    assert run("run", "pipelines/reviews", "--run-dir", "runs/first", "-q").code == 0
    named = run("revalidate", "first", "--apply")
    assert (named.code, named.out) == (0, run("revalidate", "runs/first", "--apply").out.replace("runs/first", "first"))
    assert "the run agrees with the pipeline" in named.out
    (desk / "first").mkdir()
    other = run("revalidate", "first", "--apply")
    assert other.code == 2
    assert "--pipeline and --apply are for a run of a pipeline" in other.err


@pytest.mark.spec("B14")
def test_verify_judges_the_requested_number(run: Run, desk: Path) -> None:
    run("run", "pipelines/npc_dialogue", "--run-dir", "runs/npc")
    assert run("verify", "npc").out.endswith("✓ 11 of 11 stored outcomes judged again: all agree with the contract\n")
    assert "✓ 4 of 11 stored outcomes" in run("verify", "npc", "--sample", "2").out
    assert run("verify", "npc", "--sample", "2", "--all").code == 2
    schema = desk / "runs/npc/config/schemas/speak.json"
    schema.write_text(schema.read_text("utf-8").replace('        "nervous",\n', ""), "utf-8")
    done = run("verify", "npc")
    assert done.code == 1
    assert "speak: refused: 1 stored as valid, but refused by the run's own contract (V005 1)" in done.out
    assert "`trueup revalidate npc --apply`" in done.out
    assert run("revalidate", "runs/npc", "--apply").code == 1
    assert run("verify", "npc").code == 0
    schema.write_text("{ nonsense", "utf-8")
    broken = run("verify", "npc")
    assert broken.code == 1
    assert "damaged: the run's own pipeline cannot be used" in broken.out


def test_the_folder_of_a_sift_is_not_a_run(run: Run, desk: Path) -> None:
    (desk / "sifted").mkdir()
    (desk / "sifted" / "summary.json").write_text("{}")
    done = run("verify", "sifted")
    assert done.code == 2
    assert "that is the folder of a sift, not a run; `trueup revalidate sifted" in done.err


def test_a_missing_provider_is_reported_before_a_run_is_made(
    run: Run, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = run("run", "pipelines/reviews", "--provider", "openai")
    assert done.code == 2
    assert done.err.endswith("provider 'openai' needs a key: set OPENAI_API_KEY in the environment\n")
    assert run("run", "pipelines/reviews", "--price", "cheap").code == 2
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    capped = run("run", "pipelines/reviews", "--provider", "openai", "--model", "of-my-own", "--max-cost", "1")
    assert capped.code == 2
    assert "a cost cap of $1 is set, but the price of 'of-my-own' is not known: give --price IN/OUT" in capped.err
    config = desk / "pipelines/reviews/config.yaml"
    config.write_text(
        config.read_text("utf-8").replace("  provider: replay\n  replay: {source: replies.jsonl}\n", ""), "utf-8"
    )
    assert "has no provider: pass --provider" in run("run", "pipelines/reviews").err
    gone = desk / "pipelines/npc_dialogue/replies.jsonl"
    gone.unlink()
    assert f"{gone.name}: there are no recorded replies" in run("init", "pipelines/npc_dialogue").err
    assert not (desk / "runs").exists()
    assert run("run", "pipelines/reviews", "--provider", "replay", "--price", "1/2", "--run-dir", "runs/r").code == 0
    assert json.loads(run("status", "r", "--json").out)[0]["money"]["usd"] > 0


def test_screens_without_a_terminal_are_refused(run: Run) -> None:
    done = run("tui")
    assert (done.code, done.out) == (2, "")
    assert (
        done.err
        == "trueup: the screens need a terminal for input and output; `trueup status` prints the state of runs\n"
    )


@pytest.mark.spec("B20")
def test_a_run_that_ended_before_the_pause_is_reported(run: Run, desk: Path) -> None:
    assert run("run", "pipelines/random_walk", "--run-dir", "runs/walk", "--max-units", "2", "-q").code == 0
    owner = OwnedRun.open(desk / "runs" / "walk")
    command = [*COMMAND, "pause", "runs/walk", "--wait", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=clean_environment()) as asking:
        wait_for((owner.path / PAUSE).exists)
        owner.close()
        assert asking.communicate(timeout=60)[0] == b"runs/walk has already ended: done\n"
    assert asking.returncode == 0


def test_an_error_names_the_folder_of_the_run_and_not_the_temporary_one_next_to_it(run: Run) -> None:
    name = "x" * 250  # the name of the draft is too long
    done = run("run", "pipelines/random_walk", "--run-dir", f"runs/{name}")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"trueup: runs/{name}: File name too long\n"


def test_a_page_that_cannot_be_made_names_the_file_that_is_in_the_way(run: Run, tmp_path: Path) -> None:
    run("run", "pipelines/random_walk", "--run-dir", "runs/walk", "--quiet")
    (tmp_path / "runs" / "walk" / "report.html").mkdir()
    done = run("report", "walk")
    assert (done.code, done.out, done.err) == (2, "", "trueup: runs/walk/report.html: Is a directory\n")
