"""Clients for the judging of a studio, with and without a server."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trueup.studio.api.judging import JudgeRequest, Replay, judge_reply, replay_reply
from trueup.studio.settings import Key, StudioSettings
from trueup.studio.studio import Studio

WHO = Key("tester", "", "reader")


class Bench:
    """A studio with a folder, asked directly."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.studio = Studio(StudioSettings(keys=(), folders=(folder,), **settings))

    def judge(self, reply: str = "", contract: str = "", **more: Any) -> dict[str, Any]:
        return judge_reply(self.studio, JudgeRequest(reply=reply, contract=contract, **more), WHO)

    def replay(self, reply: str, contract: str = "", **more: Any) -> dict[str, Any]:
        return replay_reply(self.studio, Replay(reply=reply, contract=contract, **more), WHO)

    def faults(self, contract: str, **more: Any) -> list[str]:
        """The faults of a contract, as `code line:column-end`."""
        found = self.judge(contract=contract, **more)["faults"]
        return [f"{one['code']} {one['line']}:{one['column']}-{one['end_column']}" for one in found]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    folder = tmp_path / "contracts"
    folder.mkdir()
    return Bench(folder)


Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file below the test's folder, which contains the studio's folder `contracts`."""

    def written(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    return written
