"""Several workers under one parent: one that dies is replaced, and takes none of the others with it."""

import os
import signal
from pathlib import Path

from tests.gateway.conftest import GOOD
from tests.gateway.serving import configured, serving
from tests.waiting import wait_for
from trueup.testing.server import ScriptedServer


def test_a_worker_that_dies_while_the_store_is_down_does_not_end_the_gateway(tmp_path: Path) -> None:
    file, aside = tmp_path / "s.db", tmp_path / "aside.db"
    with ScriptedServer(then=GOOD) as upstream:
        config = configured(upstream.url, store="s.db", workers=2)
        with serving(tmp_path, config) as served:
            first, second = served.workers()
            file.rename(aside)
            file.mkdir()
            os.kill(first, signal.SIGKILL)
            wait_for(lambda: served.log.count("that is a folder") >= 2 or served.process.poll() is not None)
            assert served.process.poll() is None, served.log
            file.rmdir()
            aside.rename(file)
            os.kill(second, signal.SIGKILL)
            assert served.chat().status_code == 200, "another worker answers"
            assert "Traceback" not in served.log
