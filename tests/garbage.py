"""The garbage that some work leaves to the collector, counted in a separate interpreter.

The collector counts the whole process. In the process of the tests, servers, event loops and browsers of other tests make garbage
in their own threads at any moment.
"""

import subprocess
import sys

_COUNT = """
import gc
work()
gc.collect()
gc.disable()
work()
print(gc.collect())
"""


def garbage_of(prepare: str, work: str) -> int:
    """How many objects a second run of the expression `work` leaves in cycles, after the statements `prepare`.

    >>> garbage_of("", "[1]"), garbage_of("", "(made := []).append(made)")
    (0, 1)
    """
    code = f"{prepare}\ndef work(): {work}\n{_COUNT}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)
