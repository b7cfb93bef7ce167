"""`make study`, third part: replies that fit their schema and are wrong, under a grounded contract and with the peers.

python bench/asking_wrong.py [--markdown PAGE]

A scripted server gives each library a valid reply with a wrong value; asked again, it gives the right one. Caught means that the wrong value was not
accepted. Every case is played once more with the right reply from the start: asking again then is a false alarm.
"""

import argparse
import logging
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from openai import OpenAI

import asking_report
from asking_failures import ARMS, PACKAGES, Run
from asking_wrong_cases import MODEL, Case, Server, cases, plain
from trueup import Policy
from trueup.testing.server import ScriptedServer

MARKS = ("<!-- wrong -->", "<!-- end of wrong -->")
GROUNDED = "trueup, grounded"
LANGUAGES = {"en": "English", "es": "Spanish", "de": "German", "zh": "Chinese", "ja": "Japanese"}


class Outcome(NamedTuple):
    """A library's outcome for a case."""

    case: Case
    right: bool  # it ended with the right value
    calls: int
    alarm: bool  # it asked again although the first reply was right


def measure() -> dict[str, list[Outcome]]:
    """Every library on every case."""
    server = Server()
    found: dict[str, list[Outcome]] = {}
    with ScriptedServer(server.answer) as scripted:
        client = OpenAI(base_url=scripted.url, api_key="none")
        policy = Policy(models=(MODEL,), backoff=0.01)

        def grounded(case: Case) -> Any:
            return case.contract(grounded=True).ask(client, case.messages, policy).value

        runs = {name: arm(scripted.url) for name, arm in ARMS.items()}
        for name in (GROUNDED, *runs):
            found[name] = []
            for case in cases():
                run = (lambda case=case: grounded(case)) if name == GROUNDED else _asked(runs[name], case)
                server.begin(case)
                right = plain(run()) == case.right
                calls = server.calls
                server.begin(case, right=True)
                run()
                found[name].append(Outcome(case, right, calls, server.calls > 1))
    return found


def _asked(run: Run, case: Case) -> Any:
    return lambda: run(case.schema, case.messages)


def tables(found: dict[str, list[Outcome]]) -> str:
    """The figures as Markdown."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    count = len(found[GROUNDED])
    lines = [f"{count} wrong replies, {len(LANGUAGES)} languages; {versions}.", ""]
    lines += ["| wrong values caught | " + " | ".join(found) + " |", "|---" * (len(found) + 1) + "|"]
    kinds = dict.fromkeys(one.case.kind for one in found[GROUNDED])
    groups = [("**all**", {}), *((kind, {"kind": kind}) for kind in kinds)]
    groups += [(name, {"lang": lang}) for lang, name in LANGUAGES.items()]
    for name, wanted in groups:
        some = [
            [one for one in outcomes if wanted.items() <= one.case._asdict().items()] for outcomes in found.values()
        ]
        lines.append(
            "| " + " | ".join([name, *(f"{sum(o.right for o in each)} of {len(each)}" for each in some)]) + " |"
        )
    for name, value in (("calls", "calls"), ("right replies refused", "alarm")):
        cells = [f"{sum(getattr(one, value) for one in outcomes)}" for outcomes in found.values()]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--markdown", type=Path, help="write the table into this page, between its two marks")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    text = tables(measure())
    if options.markdown:
        asking_report.put(options.markdown, text, MARKS)
    print(text)


if __name__ == "__main__":
    main()
