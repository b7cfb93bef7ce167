"""Grounding, judged: cases enter, each goes through `Contract.check` with its source, and the outcome of every leaf leaves.

The schema of a case comes from its value. Quotations are declared as such; everything else is left to the engine.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from grounding_false import Case, Pool, cases
from grounding_records import HALVES, LANGUAGES, Leaf
from grounding_texts import Document, document

GROUNDED = ("exact", "normalized", "fuzzy")
SHARES = {"en": 18, "es": 18, "de": 18, "zh": 18, "ja": 18, "fr": 5, "pt": 5}


class Outcome(NamedTuple):
    """The outcome of one leaf; `right` is None if there was nothing to check."""

    language: str
    half: str
    domain: str
    format: str
    value_kind: str
    form: str
    kind: str  # "true" or the kind of mistake
    right: bool | None
    grade: str
    codes: tuple[str, ...]
    document: str
    path: str
    value: Any
    said: str


def corpus(seed: int, count: int, languages: Sequence[str], halves: Sequence[str]) -> Iterator[tuple[Document, Pool]]:
    """The documents with the pool of their language and half. A document depends on the seed, its language, half and number only."""
    for language in languages:
        share = max(1, round(count * SHARES[language] / sum(SHARES[one] for one in LANGUAGES) / len(HALVES)))
        for half in halves:
            names = [f"{language}-{half}-{at}" for at in range(share)]
            documents = [document(name, language, half, f"{seed}/{name}") for name in names]
            pool = Pool(documents)
            for one in documents:
                yield one, pool


def all_cases(seed: int, count: int, languages: Sequence[str], halves: Sequence[str]) -> Iterator[Case]:
    for one, pool in corpus(seed, count, languages, halves):
        yield from cases(one, pool)


def schema_of(value: Any, leaves: Sequence[Leaf], *, formats: bool) -> dict[str, Any]:
    """A schema that fits the value, with `format: date` for dates if asked for."""
    kinds = {re.sub(r"\[\d+\]", "[]", leaf.path): leaf.kind for leaf in leaves}

    def build(part: Any, path: str) -> dict[str, Any]:
        if isinstance(part, dict):
            properties = {key: build(one, f"{path}.{key}") for key, one in part.items()}
            return {"type": "object", "properties": properties, "required": list(part)}
        if isinstance(part, list):
            return {"type": "array", "items": build(part[0], f"{path}[]")}
        kind = kinds[path]
        if kind == "flag":
            return {"type": "boolean"}
        if isinstance(part, str):
            return {"type": "string", "format": "date"} if kind == "date" and formats else {"type": "string"}
        return {"type": "integer" if kind == "integer" else "number"}

    return build(value, "$")


def option_of(leaves: Sequence[Leaf]) -> Any:
    """`True`, or the fields and the quotations, if there are any."""
    patterns = list(dict.fromkeys(re.sub(r"\[\d+\]", "[]", leaf.path)[2:] for leaf in leaves))
    quotes = [pattern for pattern in patterns if pattern.rsplit(".", 1)[-1] == "quote"]
    return {"fields": patterns, "quotations": quotes, "level": "error"} if quotes else True


def context_of(case: Case) -> dict[str, Any]:
    """The source and the day; the instructions are the prompt, or the system message of a chat."""
    made = case.document
    context: dict[str, Any] = {"source": made.source, "today": made.place.today.isoformat()}
    if case.prompt and made.format == "chat":
        assert isinstance(made.source, list)
        context["source"] = [{"role": "system", "content": case.prompt}, *made.source]
    elif case.prompt:
        context["prompt"] = case.prompt
    return context


class Engine:
    """trueup's contracts, one for each shape of value."""

    def __init__(self) -> None:
        self.contracts: dict[str, Any] = {}

    def check(self, case: Case) -> Any:
        from trueup import Contract

        made = case.document
        formats = len(made.name) % 2 == 0
        schema = schema_of(made.value, made.leaves, formats=formats)
        option = option_of(made.leaves)
        key = json.dumps([schema, option])
        if key not in self.contracts:
            self.contracts[key] = Contract(schema, grounded=option)
        return self.contracts[key].check(json.dumps(case.value, ensure_ascii=False), context_of(case))


def _at(value: Any, path: str) -> Any:
    for step in re.findall(r"\w+", path):
        value = value[int(step) if step.isdigit() else step]
    return value


def outcomes(case: Case, verdict: Any) -> Iterator[Outcome]:
    """Every leaf of a true case; the false leaves of a false one."""
    made = case.document
    codes: dict[str, list[str]] = {}
    for finding in verdict.findings:
        if finding.code.startswith("E"):
            codes.setdefault(str(finding.path), []).append(finding.code)
    for leaf in case.leaves:
        evidence = verdict.evidence.get(leaf.path)
        grade = evidence.grade if evidence is not None else "missing"
        found = tuple(codes.get(leaf.path, ()))
        right: bool | None
        if leaf.kind == "flag":
            right = None
        elif case.false:
            right = bool(found)
        else:
            right = grade in GROUNDED and not found
        form = leaf.said[-1] if leaf.said else None
        yield Outcome(
            made.language, made.half, made.domain, made.format, leaf.kind, form.name if form else "", case.kind, right, grade, found,
            made.name, leaf.path, _at(case.value, leaf.path), form.text if form else "",
        )  # fmt: skip


def judge(every: Iterable[Case], engine: Any) -> Iterator[tuple[Case, Outcome]]:
    for case in every:
        verdict = engine.check(case)
        for one in outcomes(case, verdict):
            yield case, one
