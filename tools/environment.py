"""Makes a virtual environment from lock files: `python3 tools/environment.py FOLDER LOCK… [--no-deps LOCK…] [--editable]`.

Needs only Python's standard library. uv installs the packages where it is available, because it takes a tenth of the time;
with --fetch-uv it is taken from the first lock if it is not. Where uv cannot reach an index (it does not read pip's
settings), pip does the work. Everything is checked against the hashes in the locks, which list every dependency.
"""

from __future__ import annotations  # an older Python must reach the message that it is too old

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

OLDEST = (3, 11)
_ENTRY = re.compile(r"^[\w.-]+==.*(?:\n[ \t]+.*)*", re.MULTILINE)


def say(text: str) -> None:
    print(f"== {text}", flush=True)


def entries(lock: Path) -> list[str]:
    """The pinned packages of a lock, each with its hashes."""
    return _ENTRY.findall(lock.read_text(encoding="utf-8"))


class Environment:
    """A virtual environment that is being filled."""

    def __init__(self, folder: Path, *, compiled: bool = False) -> None:
        self.folder, self.compiled = folder, compiled
        self.bin = folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.bin / "python"
        self.uv = shutil.which("uv")

    def create(self, fetch_uv_from: Path | None) -> None:
        with_pip = self.uv is None
        venv.EnvBuilder(clear=True, with_pip=with_pip, symlinks=os.name != "nt").create(self.folder)
        if self.uv is None and fetch_uv_from is not None:
            pinned = [entry for entry in entries(fetch_uv_from) if entry.startswith("uv==")]
            with tempfile.TemporaryDirectory() as folder:
                lock = Path(folder) / "uv.lock"
                lock.write_text("\n".join(pinned), encoding="utf-8")
                self._pip("--require-hashes", "-r", str(lock))
            self.uv = str(self.bin / "uv")

    def install(self, *words: str) -> None:
        """Run `pip install` with these arguments: with uv, if it is installed and reaches an index."""
        if self.uv is not None:
            compiling = ["--compile-bytecode"] if self.compiled else []
            command = [self.uv, "pip", "install", "--python", str(self.python), *compiling, *words]
            if self._run(command, ("Prepared", "Installed", "Bytecode")) == 0:
                return
            say("uv cannot reach an index; pip installs instead")
            self.uv = None
            subprocess.run([self.python, "-m", "ensurepip", "--upgrade"], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        self._pip(*words)

    def _pip(self, *words: str) -> None:
        compiling = "--compile" if self.compiled else "--no-compile"
        # Without --no-deps, pip refuses a lock in which a package needs another one with an extra.
        quiet = ["--disable-pip-version-check", "install", "--progress-bar=off", "--no-deps", compiling]
        code = self._run([str(self.python), "-m", "pip", *quiet, *words], ("Collecting", "Installing"))
        if code != 0:
            sys.exit(f"== {self.folder} could not be set up: pip ended with exit code {code}")

    def _run(self, command: list[str], shown: tuple[str, ...]) -> int:
        """Run a command and show its lines about progress; all lines if it fails."""
        said = []
        with subprocess.Popen(  # noqa: S603 - our own words
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace"
        ) as child:
            for line in child.stdout or ():
                said.append(line)
                if line.startswith(shown):
                    print(f"   {line.partition(' (from')[0].rstrip()[:100]}", flush=True)
        if child.returncode != 0:
            print("".join(said[-20:]), end="", file=sys.stderr, flush=True)
        return child.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("locks", type=Path, nargs="+")
    parser.add_argument("--no-deps", type=Path, nargs="*", default=[], help="locks to install without dependencies")
    parser.add_argument("--editable", action="store_true", help="install this project too, for development")
    parser.add_argument("--compile", action="store_true", help="compile all packages to bytecode now")
    parser.add_argument("--fetch-uv", action="store_true", help="install uv first if it is missing")
    options = parser.parse_args()
    if sys.version_info < OLDEST:
        sys.exit(f"trueup needs Python {OLDEST[0]}.{OLDEST[1]} or newer; this is {sys.version.split()[0]}")
    count = sum(len(entries(lock)) for lock in [*options.locks, *options.no_deps])
    say(f"creating {options.folder} and installing {count} packages, once")
    made = Environment(options.folder, compiled=options.compile)
    made.create(options.locks[0] if options.fetch_uv else None)
    for lock in options.locks:
        made.install("--require-hashes", "-r", str(lock))
    for lock in options.no_deps:
        made.install("--require-hashes", "--no-deps", "-r", str(lock))
    if options.editable:
        made.install("--no-deps", "--no-build-isolation", "-e", ".")
    return 0


if __name__ == "__main__":
    sys.exit(main())
