"""Puts the top folder of the repository on the path: the shapes that the tests compare are measured here as well."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))
