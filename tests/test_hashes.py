"""The same input gives the same verdict, prompt and draft in every process, whatever the hashes of its strings are."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from tests.effort import SOAK

SEEDS = range(1, 101) if SOAK else (1, 13, 29)


def printed(seed: int, root: Path) -> str:
    env = {**os.environ, "PYTHONHASHSEED": str(seed)}
    ran = subprocess.run([sys.executable, "-m", "tests.hashed"], cwd=root, env=env, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    assert ran.stdout.count(b"\n") > 5_000
    return hashlib.sha256(ran.stdout).hexdigest()


def test_no_result_depends_on_the_hashes_of_strings(root: Path) -> None:
    assert len({printed(seed, root) for seed in SEEDS}) == 1
