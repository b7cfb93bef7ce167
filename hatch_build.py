"""A hook of the build: with TRUEUP_COMPILE=1 the wheel holds the engine's hot modules compiled by mypyc as well.

Their sources are in the wheel either way, and are what runs where nothing was compiled: one code, two ways to run it.
An editable install is never compiled, for a compiled module hides the source beside it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HOT = ("recover/*.py", "recover/*/*.py", "conform/*.py", "contract/judge.py", "contract/integers.py")
# What mypyc cannot take (a subclass of str, calls of named tuples with defaults, a table of methods), or gains nothing by.
PLAIN = ("__init__.py", "recover/calls/*.py", "growing.py")

_MYPY = "[mypy]\npython_version = 3.11\nstrict = True\nmypy_path = src\nfollow_imports = silent\nignore_missing_imports = True\n"
_SETUP = """
import sys
from mypyc.build import mypycify
from setuptools import setup
built = mypycify(["--config-file=mypy.ini", *sys.argv[1:]], opt_level="1", debug_level="0", group_name="trueup")
setup(name="trueup", packages=[], package_dir={"": "src"}, ext_modules=built,
      script_args=["--quiet", "build_ext", "--inplace", "--parallel=2"])
"""


def wanted() -> bool:
    """Whether whoever builds asked for compiled modules."""
    return os.environ.get("TRUEUP_COMPILE", "") not in ("", "0")


def hot_modules(package: Path) -> list[Path]:
    """The modules to compile, in a fixed order."""
    found = [path for pattern in HOT for path in sorted(package.glob(pattern))]
    return [path for path in found if not any(path.match(pattern) for pattern in PLAIN)]


def compile_into(package: Path, place: Path) -> list[Path]:
    """Compile a copy of the package in a folder of its own; the libraries that came of it."""
    source = place / "src"
    shutil.copytree(package, source / package.name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    (place / "mypy.ini").write_text(_MYPY)
    modules = [str(path.relative_to(place)) for path in hot_modules(source / package.name)]
    done = subprocess.run(  # noqa: S603 - our own script, our own files
        [sys.executable, "-c", _SETUP, *modules],
        cwd=place, check=False, capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    if done.returncode:
        said = (done.stdout + done.stderr)[-4000:]
        raise RuntimeError(f"mypyc did not compile trueup; build without TRUEUP_COMPILE for a pure wheel.\n{said}")
    return sorted(path for path in source.rglob("*") if path.suffix in (".so", ".pyd"))


class CompiledModules(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the compiled modules to a wheel."""

    PLUGIN_NAME = "custom"
    _place: Path | None = None

    def dependencies(self) -> list[str]:
        """What a build in isolation needs: the compiler, and the libraries whose types the modules are compiled by."""
        return ["mypy>=2.4", "setuptools>=65.5", *self.metadata.core.dependencies] if wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not wanted() or self.target_name != "wheel" or version == "editable":
            return
        self._place = Path(tempfile.mkdtemp(prefix="trueup-"))
        try:
            libraries = compile_into(Path(self.root) / "src" / "trueup", self._place)
        except RuntimeError:
            shutil.rmtree(self._place, ignore_errors=True)
            raise
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"].update({str(p): str(p.relative_to(self._place / "src")) for p in libraries})

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        if self._place is not None:
            shutil.rmtree(self._place, ignore_errors=True)
