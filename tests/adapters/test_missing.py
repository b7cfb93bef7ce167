"""Importing an adapter without its library: the error names the package to install, and never trueup."""

import subprocess
import sys

from tests.adapters.elsewhere import ADAPTERS, ROOT

PACKAGES = {
    "agents": "openai-agents", "dspy": "dspy", "haystack": "haystack-ai", "instructor": "instructor",
    "langchain": "langchain-core", "litellm": "litellm", "llama_index": "llama-index-core", "pandas": "pandas",
    "polars": "polars", "pydantic_ai": "pydantic-ai-slim",
}  # fmt: skip
ONLY_TRUEUP = """
import importlib, sys

class Missing:
    own = sys.stdlib_module_names | set(sys.argv[1].split())
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in self.own:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
for name in sys.argv[2:]:
    try:
        importlib.import_module(f"trueup.adapters.{name}")
    except ImportError as error:
        print(name, error, sep="\\t")
"""
OWN = "trueup msgspec orjson jsonschema_rs rapidfuzz click rich re2 _re2 ruamel"


def test_an_adapter_names_the_package_to_install() -> None:
    command = [sys.executable, "-c", ONLY_TRUEUP, OWN, *ADAPTERS]
    done = subprocess.run(command, cwd=ROOT / "src", capture_output=True, text=True, check=True, timeout=120)
    said = dict(line.split("\t") for line in done.stdout.splitlines())
    assert set(said) == set(ADAPTERS) == set(PACKAGES)
    for name, package in PACKAGES.items():
        assert said[name].startswith(f"this adapter needs {package}>="), said[name]
        assert f'pip install "{package}>=' in said[name]
