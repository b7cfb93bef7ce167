"""The bundle of the page: the committed files match their sources, are small enough, and contain nothing that a strict
policy forbids.
"""

import gzip
import hashlib
import os
import posixpath
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from trueup.studio.assets import assets, index

MOST = 250_000  # bytes of all that a browser loads, compressed


@pytest.fixture(scope="module")
def sources(root: Path) -> dict[str, str]:
    """The modules of the page that are written by hand."""
    page = root / "src" / "trueup" / "studio" / "page"
    return {file.relative_to(page).as_posix(): file.read_text("utf-8") for file in page.rglob("*.js")}


@pytest.mark.needs("node")
def test_the_committed_bundle_matches_its_sources(root: Path, tmp_path: Path) -> None:
    studio = root / "src" / "trueup" / "studio"
    tools = tmp_path / "tools"
    shutil.copytree(root / "tools" / "studio", tools, ignore=shutil.ignore_patterns("node_modules"))
    made = tmp_path / "made"
    # npm gets its own cache folder, so that two runs of the tests do not share one.
    own = {**os.environ, "TRUEUP_STUDIO": str(studio), "npm_config_cache": str(tmp_path / "npm")}
    for command in (["npm", "ci", "--silent", "--ignore-scripts"], ["node", "build.mjs", str(made)]):
        done = subprocess.run(command, cwd=tools, env=own, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    committed = {file.name: _hash(file) for file in (studio / "bundle").iterdir()}
    assert {file.name: _hash(file) for file in made.iterdir()} == committed, "run `make bundle` and commit the result"


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_the_files_that_a_browser_loads_are_small() -> None:
    page = index("", "")
    loaded = {name: len(asset.packed or asset.body) for name, asset in assets().items() if name in page}
    assert loaded.keys() == {"studio.js", "studio.css", "icon.svg"}
    assert sum(loaded.values()) + len(page) <= MOST, loaded


def test_compressed_assets_equal_the_originals() -> None:
    for name, asset in assets().items():
        assert not asset.packed or gzip.decompress(asset.packed) == asset.body, name


def test_modules_import_libraries_from_one_place(sources: dict[str, str]) -> None:
    """Every module is used, and imports either another module of ours or, only in `vendor.js`, a library."""
    used = {"app.js"}
    for name, text in sources.items():
        for target in re.findall(r'^(?:import |(?:import|export) [^;"]* from |\} from )"([^"]+)"', text, re.MULTILINE):
            if target.startswith("."):
                used.add(posixpath.normpath(posixpath.join(posixpath.dirname(name), target)))
            else:
                assert name == "vendor.js" or target.endswith(".css"), f"{name} imports {target}"
    assert sources.keys() <= used, f"nothing imports {sources.keys() - used}"


def test_every_name_that_a_module_imports_or_exports_is_used(sources: dict[str, str]) -> None:
    """Including `vendor.js`: its exports are bundled."""
    everywhere = "\n".join(sources.values())
    for name, text in sources.items():
        for names in re.findall(r'^import \{([^}]*)\} from "[^"]+";', text, re.MULTILINE):
            for each in re.findall(r"(\w+)(?:,|$)", names):
                assert len(re.findall(rf"\b{each}\b", text)) > 1, f"{name} imports {each} and does not use it"
        offered = re.findall(r"^export (?:async )?(?:const|class|function\*?) (\w+)", text, re.MULTILINE)
        offered += [each for names in re.findall(r"^export \{([^}]*)\}", text, re.MULTILINE) for each in re.findall(r"(\w+)(?:,|$)", names)]  # fmt: skip
        for each in offered:
            assert len(re.findall(rf"\b{each}\b", everywhere)) > 1, f"nothing uses {each} of {name}"


def test_our_modules_write_only_text_nodes(sources: dict[str, str]) -> None:
    """No module writes HTML or evaluates text; the browser would refuse it, and no reviewer has to look for it."""
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|\beval\(|new Function"
    )
    for name, text in sources.items():
        assert not forbidden.search(text), name
        assert not re.search(r"https?://", text), f"{name} names an address outside"
