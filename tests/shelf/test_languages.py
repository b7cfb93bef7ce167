"""The language identifier: loaded once, on first use, no matter how many threads need it."""

import sys
from concurrent.futures import ThreadPoolExecutor
from subprocess import run

from trueup import Contract
from trueup.shelf import languages
from trueup.shelf.languages import KNOWN, identifier


def test_the_languages_match_the_model() -> None:
    assert set(identifier().labels) - {"zxx"} == KNOWN


def test_a_contract_does_not_load_the_model() -> None:
    program = "import sys; from trueup import Contract; Contract(checks=[{'language': 'es'}]); assert 'numpy' not in sys.modules"
    assert run([sys.executable, "-c", program], check=False).returncode == 0


def test_threads_share_one_model() -> None:
    languages._identifier.cache_clear()
    contract = Contract(checks=[{"language": "es"}])
    text = "Your table is booked for tomorrow evening at nine. See you then!"
    with ThreadPoolExecutor(8) as pool:
        verdicts = list(pool.map(contract.check, [text] * 8))
    assert [[one.code for one in verdict.findings] for verdict in verdicts] == [["H006"]] * 8
    assert languages._identifier.cache_info().misses == 1


def test_a_long_reply_is_judged_in_full() -> None:
    spanish = "Su mesa está reservada para mañana por la noche a las nueve. "
    english = "Your table is booked for tomorrow evening at nine, see you then. "
    contract = Contract(checks=[{"language": "es"}])
    assert contract.check(spanish * 300 + english * 200).ok
    (found,) = contract.check(spanish * 200 + english * 300).findings
    assert found.data["share"] > 0.5
