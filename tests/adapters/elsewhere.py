"""Lists the adapters that are tested in `.venv-adapters`, because their libraries conflict with the development environment.

`tests/adapters/test_environment.py` runs the tests of these adapters there. All other adapters are tested in `.venv`.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ELSEWHERE = frozenset({"agents", "dspy", "haystack", "instructor", "litellm", "llama_index"})
ADAPTERS = tuple(sorted(p.stem for p in (ROOT / "src" / "trueup" / "adapters").glob("*.py") if p.stem != "__init__"))

FOLDER = ROOT / ".venv-adapters"
PYTHON = FOLDER / ("Scripts" if sys.platform == "win32" else "bin") / "python"
INSIDE = Path(sys.prefix).resolve() == FOLDER
HERE = tuple(name for name in ADAPTERS if (name in ELSEWHERE) == INSIDE)
"""The adapters with libraries that are installed in this environment."""
