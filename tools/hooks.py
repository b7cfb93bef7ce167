"""Hooks that mkdocs calls while it builds: the pages of the catalogue, and the tests of each requirement."""

import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).resolve().parent))
import pages


def on_files(files: Files, config: MkDocsConfig) -> Files:
    made = {
        "reference/codes.md": pages.codes_page(),
        "reference/options.md": pages.options_page(),
        "security.md": pages.root_page("SECURITY.md"),
        "contributing.md": pages.root_page("CONTRIBUTING.md"),
    }
    made |= {f"reference/findings/{name}": text for name, text in pages.finding_pages().items()}
    for uri, text in made.items():
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return pages.with_tests(markdown) if page.file.src_uri == "requirements.md" else markdown
