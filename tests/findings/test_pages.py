"""Every page is both documentation and test: the engine gives the results that its examples show."""

import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest

from trueup import Contract, Policy
from trueup.ask.loop.loop import Loop, Traits
from trueup.ask.loop.plan import Finish, Send
from trueup.batch.judging.contracts import spec_of
from trueup.batch.judging.work import UnitLimits
from trueup.batch.pipeline.config import read_config
from trueup.batch.pipeline.lint.run import lint_pipeline
from trueup.batch.pipeline.rundir.create import create_run
from trueup.batch.pipeline.running.run import execute
from trueup.batch.sift import SiftOptions as SiftOptions
from trueup.batch.sift import sift
from trueup.conform.options import Options
from trueup.contract.lint.examples import run_examples
from trueup.contract.lint.run import lint_contract
from trueup.gateway.settings import read_config as read_gateway
from trueup.verdict.catalogue import FINDINGS, FIXES
from trueup.verdict.pages import SECTIONS, CodePage, PageExample, read_page

FILES = ("validated.jsonl", "failures.jsonl")
FOLDER = Path(__file__).resolve().parents[2] / "src" / "trueup" / "findings"
PAGES = {file.stem: read_page(file.read_text("utf-8")) for file in sorted(FOLDER.glob("*.md"))}
TRIGGERS = [(f"{p.code}-{i}", p, e) for p in PAGES.values() for i, e in enumerate(p.triggers, 1)]
QUIET = [(f"{p.code}-{i}", p, e) for p in PAGES.values() for i, e in enumerate(p.quiet, 1)]


def judge(example: PageExample, folder: Path) -> set[tuple[str, str]]:
    """The engine's result for an example: the code and path of each fix and finding."""
    if "pipeline" in example.options:
        return judge_pipeline(example, folder)
    if example.options.get("gateway") == "yes":
        file = folder / "gateway.yaml"
        file.write_text(example.contract, "utf-8")
        return {(found.code, found.path) for found in read_gateway(file, {})[1]}
    if example.contract:
        return judge_file(example, folder)
    if example.options.get("lines") == "yes":
        return judge_lines(example, folder)
    if "ask" in example.options:
        return judge_asked(example)
    options: dict[str, Any] = {"schema": None if "tools" in example.options else True, **example.options}
    if isinstance(options.get("coerce"), dict):
        options["coerce"] = Options(**options["coerce"])
    if example.python:
        module = ModuleType("page_example")  # dataclasses look their own module up
        sys.modules[module.__name__] = module
        exec(example.python, module.__dict__)
        if isinstance(options["schema"], str):
            options["schema"] = getattr(module, options["schema"])
        if "checks" in options:
            options["checks"] = [getattr(module, name) for name in options["checks"]]
    times = options.pop("times", 1)
    if options.pop("stream", "no") == "yes":
        stream = Contract(**options).stream()
        for _ in range(times):
            stream.push(example.reply)
        return {(found.code, found.path) for found in stream.findings}
    verdict = Contract(**options).check(repeated(example), example.context)
    return {(fact.code, fact.path) for fact in (*verdict.fixes, *verdict.findings)}


def repeated(example: PageExample) -> Any:
    """The reply of an example, repeated if only many copies of it trigger the code."""
    times = example.options.get("times", 1)
    return example.reply * times if times > 1 else example.reply


def judge_file(example: PageExample, folder: Path) -> set[tuple[str, str]]:
    """The same for a contract file: the faults of the file, or of a reply under it."""
    file = folder / example.options.get("file", "contract.yaml")
    file.write_text(example.contract, "utf-8")
    if example.reply is not None:
        contract = Contract.load(file)
        with patch.dict(os.environ, example.options.get("environ", {})):  # what has changed since
            verdict = contract.check(repeated(example), example.context)
        return {(fact.code, fact.path) for fact in (*verdict.fixes, *verdict.findings)}
    linted = lint_contract(file)
    faults = [*linted.faults, *(run_examples(linted) if example.options.get("run") else ())]
    return {(found.code, found.path) for found in faults}


def judge_lines(example: PageExample, folder: Path) -> set[tuple[str, str]]:
    """The same for a file of a batch: it is sifted; `--- python` may define the contract."""
    contract: Any = Contract(True)
    if example.python:
        names: dict[str, Any] = {}
        exec(example.python, names)
        own = [names[name] for name in example.options.get("checks", ())]
        contract = Contract(True, checks=own) if own else names["Slow"]()
    file = folder / "lines.jsonl"
    file.write_bytes(example.reply if isinstance(example.reply, bytes) else example.reply.encode())
    guard = UnitLimits(float(example.options.get("seconds", 60)))
    options = SiftOptions(workers=1, guard=guard, max_line=example.options.get("max_line", 1 << 20))
    summary = sift([str(file)], spec_of(contract), folder / "out", options).summary
    records = [json.loads(line) for name in FILES for line in (folder / "out" / name).read_text("utf-8").splitlines()]
    assert len(records) == summary["counts"]["units"]
    told = [error for record in records for error in (*record.get("errors", ()), *record.get("warnings", ()))]
    return {(error["code"], error["path"]) for error in told}


PIPELINE = {
    "pipeline": "pipeline: {steps: [{name: ask}]}",
    "processing": "processing: {strategy: direct, chunk_size: 10, items: {source: items.yaml, key: people}}",
    "prompts": "prompts: {template_dir: templates, templates: {ask: ask.jinja2}}",
    "schemas": "schemas: {schema_dir: schemas, files: {ask: ask.json}}",
    "validation": "validation: {ask: {required: [answer]}}",
    "api": "api: {provider: replay, replay: {source: replies.jsonl}}",
}
PIPELINE_FILES = {
    "items.yaml": "people: [{name: Ada, n: 3, tags: [a, b]}]",
    "templates/ask.jinja2": "Greet {{ name }}.",
    "templates/other.jinja2": "Greet {{ name }} of {{ town }}.",
    "templates/broken.jinja2": "Greet {{ name",
    "schemas/ask.json": '{"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}',
}


def judge_pipeline(example: PageExample, folder: Path) -> set[tuple[str, str]]:
    """The same for a pipeline's configuration: linted, or with `run` run on the reply for each unit.

    A `part` of a configuration is made whole with the sections of `PIPELINE`.
    """
    how = example.options["pipeline"].split()
    text = example.contract
    if "part" in how:
        text += "".join(f"{line}\n" for name, line in PIPELINE.items() if not text.startswith(f"{name}:"))
    replies = json.dumps({"step": "ask", "unit_id": "*", "raw_response": example.reply or ""}) + "\n"
    for name, content in {**PIPELINE_FILES, "config.yaml": text, "replies.jsonl": replies}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, "utf-8")
    if "run" not in how:
        return {(found.code, found.path) for found in lint_pipeline(folder)}
    run = create_run(read_config(folder), folder / "run")
    execute(run)
    failures = [json.loads(line) for line in (run / "failures.jsonl").read_text("utf-8").splitlines()]
    return {(error["code"], error["path"]) for failure in failures for error in failure["errors"]}


def judge_asked(example: PageExample) -> set[tuple[str, str]]:
    """The same for asking a model that always gives this reply; `ask` has the policy and the kind of client."""
    options = dict(example.options)
    asked = options.pop("ask")
    traits = Traits(finishes=asked.pop("finishes", False))
    cancel = asked.pop("cancel", False)
    loop = Loop(Contract(**{"schema": True, **options}), traits, "Go.", Policy(**asked))
    step = loop.start()
    while not isinstance(step, Finish):
        if isinstance(step, Send):
            loop.request()
            step = loop.replied(example.reply)
        else:
            step = loop.waited()
        if cancel and not isinstance(step, Finish):
            step = loop.cancelled()
    return {(found.code, found.path) for found in (*loop.answer().findings, *loop.answer().verdict.fixes)}


def test_there_is_a_page_for_every_code_and_no_other() -> None:
    kinds = [*FIXES.values(), *FINDINGS.values()]
    assert sorted(PAGES) == sorted(f"{kind.code}-{kind.name}" for kind in kinds)


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_agrees_with_the_catalogue(page: CodePage) -> None:
    fix = FIXES.get(page.code)
    if fix is not None:
        assert (page.name, page.head) == (fix.name, f"fix · {fix.grade} · price {fix.price}")
    else:
        finding = FINDINGS[page.code]
        assert (page.name, page.head) == (finding.name, f"finding · {finding.level}")


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_has_every_section_and_both_kinds_of_example(page: CodePage) -> None:
    assert tuple(page.sections) == SECTIONS
    assert all(page.sections.values())
    assert page.triggers
    assert page.quiet
    for example in page.triggers:
        assert page.code in {code for code, _ in example.gives}
    for example in page.quiet:
        assert not example.gives


@pytest.mark.parametrize(("page", "example"), [row[1:] for row in TRIGGERS], ids=[row[0] for row in TRIGGERS])
def test_triggers_give_exactly_their_code_and_path(page: CodePage, example: PageExample, tmp_path: Path) -> None:
    assert judge(example, tmp_path) == example.gives


@pytest.mark.parametrize(("page", "example"), [row[1:] for row in QUIET], ids=[row[0] for row in QUIET])
def test_stays_quiet(page: CodePage, example: PageExample, tmp_path: Path) -> None:
    assert judge(example, tmp_path) == set()
