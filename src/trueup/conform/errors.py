from typing import Any
from trueup.conform.document import Place
from trueup.verdict.facts import Finding
def explain(place: Place, value: Any, limit: int) -> list[Finding]:
    return []
