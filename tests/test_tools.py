"""The tools that `make` runs: they choose the tests for a change, and create an environment."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.environment import Environment, entries
from tools.rooms import places_of, rooms, touched


def test_the_rooms_of_a_change_are_those_of_its_sources_and_tests() -> None:
    changed = [
        "src/trueup/recover/json/splice.py",
        "tests/checks/test_state.py",
        "README.md",
        "src/trueup/__init__.py",
        "tests/growth.py",
    ]
    assert touched(changed) == ["checks", "recover"]
    assert touched(["src/trueup/findings/S001-trailing-comma.md", "tests/threats/test_long.py"]) == [
        "findings",
        "threats",
    ]


def test_the_places_of_a_room_are_its_folder_its_doctests_and_the_house_rules(root: Path) -> None:
    assert places_of(["recover"]) == ["tests/test_house.py", "tests/recover", "src/trueup/recover"]
    assert all((root / place).exists() for name in rooms() for place in places_of([name]))


def test_a_room_that_does_not_exist_is_an_error_that_names_the_others(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "tools/rooms.py", "recovery"], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "there is no room 'recovery'; there are " in done.stderr
    assert " backtesting, batch, " in done.stderr


def test_a_lock_is_read_entry_by_entry_with_its_hashes(root: Path) -> None:
    pinned = entries(root / "requirements" / "core.lock")
    assert len(pinned) >= 8
    assert all("--hash=sha256:" in entry for entry in pinned)
    assert [entry for entry in entries(root / "requirements" / "dev.lock") if entry.startswith("uv==")]


def test_pip_installs_if_uv_cannot_reach_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[list[str]] = []
    made = Environment(tmp_path / "env")
    made.uv = str(tmp_path / "uv")
    monkeypatch.setattr("subprocess.run", lambda command, **_: ran.append([str(word) for word in command]))
    monkeypatch.setattr(made, "_run", lambda command, _: ran.append(command) or int(command[0] == str(tmp_path / "uv")))
    made.install("-r", "some.lock")
    assert [command[1:3] for command in ran] == [["pip", "install"], ["-m", "ensurepip"], ["-m", "pip"]]
    assert "--no-deps" in ran[-1], "a lock lists every dependency, and pip refuses those with an extra"
    assert "uv cannot reach an index; pip installs instead" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_help_lists_every_target_in_lines_of_a_terminal(root: Path) -> None:
    done = subprocess.run(["make", "-s", "help"], cwd=root, capture_output=True, text=True, check=True, timeout=60)
    lines = done.stdout.splitlines()[1:]
    assert max(map(len, lines)) < 80
    documented = re.findall(r"^([a-z-]+):.*## (.+)$", (root / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert [line[2:20].rstrip() for line in lines if line[2] != " "] == [target for target, _ in documented]
    assert {line[20] for line in lines} == {" "}
    assert " ".join(" ".join(line[21:] for line in lines).split()) == " ".join(words for _, words in documented)
