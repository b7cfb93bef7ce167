"""`python bench/studio.py`: the studio, measured in a real browser.

python bench/studio.py [--store BIG.db] [--verdicts 1000000] [--keys 120] [--markdown PAGE]

Everything is timed inside the page: from the key or the new address to the DOM that shows the answer, and one frame more. CPU is the kernel's count for the
renderer's process, from the navigation to a judged example. Without `--store`, a store is made first, which takes minutes.
"""

import argparse
import contextlib
import os
import platform
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from root import ROOT
from trueup.studio.assets import assets, index

CHROMIUM = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
FILTERS = {
    "none": "", "model": "model=small-1", "rare model": "model=rare-model", "contract": "contract=profile", "code": "code=V002", "rule": "rule=never_twice",
    "state": "state=PAYMENT", "tenant": "tenant=tenant-7", "outcome": "outcome=repaired", "refused": "ok=false", "label": "label=wrong",
    "text, common": "text=Porto", "text, rare": "text=needle", "text, not there": "text=zzzzqqqq", "model and code": "model=large-1&code=V002", "rare model and refused": "model=rare-model&ok=false",
    "state, tenant and outcome": "state=PAYMENT&tenant=tenant-7&outcome=repaired",
}  # fmt: skip
# Wait for the attribute that says "this verdict is about the text in the editors".
TYPING = """async (text) => {
  const place = document.querySelector('[data-judged], .try');
  const found = [];
  const editor = document.activeElement;
  for (const letter of text) {
    const began = performance.now();
    document.execCommand('insertText', false, letter);
    await new Promise((done) => {
      const look = () => place.hasAttribute('data-judged') ? requestAnimationFrame(() => done()) : setTimeout(look, 1);
      setTimeout(look, 0);
    });
    found.push(performance.now() - began);
    await new Promise((done) => setTimeout(done, 60));
  }
  return found;
}"""
# Until the first rows are drawn, and until the counts of the filters are: two times.
GOING = """async (address) => {
  const began = performance.now();
  history.pushState(null, '', address);
  dispatchEvent(new PopStateEvent('popstate'));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const until = (selector) => new Promise((done) => {
    const look = () => document.querySelector(selector) ? requestAnimationFrame(() => done(performance.now() - began)) : setTimeout(look, 2);
    look();
  });
  return Promise.all([until('[data-rows=ready]'), until('[data-counts=ready]')]);
}"""


class Row(NamedTuple):
    name: str
    figure: str
    bar: str
    met: bool


@contextlib.contextmanager
def studio(*options: str) -> Iterator[tuple[str, int]]:
    """`trueup studio` as a process: its URL and its pid."""
    process = subprocess.Popen(
        [sys.executable, "-m", "trueup", "studio", "--no-browser", "--port", "0", *options],
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stderr is not None
    try:
        url = ""
        while not url:
            line = process.stderr.readline()
            if not line:
                raise SystemExit("the studio did not start")
            url = next((word for word in line.split() if "?token=" in word), "")
        yield url, process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def signed_in(browser: Any, url: str) -> Any:
    """The cookies of a browser that has opened the URL, which works once."""
    context = browser.new_context()
    context.new_page().goto(url)
    kept = context.storage_state()
    context.close()
    return kept


def ready(browser: Any, url: str, kept: Any) -> tuple[float, float]:
    """Seconds of CPU of the renderer, and wall seconds, until the first example is judged; the median of five cold starts."""
    cpu, wall = [], []
    for _ in range(5):
        context = browser.new_context(viewport={"width": 1440, "height": 900}, storage_state=kept)
        tab = context.new_page()
        session = context.new_cdp_session(tab)
        session.send("Performance.enable")
        before = _process_time(session)
        tab.goto(url)
        tab.wait_for_selector("[data-judged]")
        cpu.append(_process_time(session) - before)
        wall.append(tab.evaluate("performance.now()") / 1000)
        context.close()
    return statistics.median(cpu), statistics.median(wall)


def _process_time(session: Any) -> float:
    return next(
        each["value"] for each in session.send("Performance.getMetrics")["metrics"] if each["name"] == "ProcessTime"
    )


def broken_reply(size: int) -> str:
    """A reply of about this many characters, with a fault in every fifth record."""
    dice = random.Random(5)
    records = []
    while sum(map(len, records)) < size:
        number = dice.randrange(10_000)
        comma = "," if dice.random() < 0.2 else ""
        records.append(
            f'  {{"name": "Ada {number}", "age": {number % 90}, "role": "engineer", "note": "entry number {number}"{comma}}},\n'
        )
    return "Here are the records:\n```json\n[\n" + "".join(records) + "]\n```\n"


CONTRACT = """schema:
  type: array
  items:
    type: object
    properties:
      name: {type: string}
      age: {type: integer, minimum: 0}
      role: {enum: [engineer, designer, writer]}
      note: {type: string}
    required: [name, age]
"""


def typing(tab: Any, size: int, keys: int) -> list[float]:
    """Milliseconds from each key to its verdict, in a reply of this size."""
    tab.goto(tab.url.split("/try")[0] + "/try")
    tab.wait_for_selector("[data-judged]")
    for label, text in (("Contract", CONTRACT), ("Reply", broken_reply(size))):
        tab.locator(f'section[aria-label="{label}"] .cm-content').click()
        tab.keyboard.press("Control+a")
        tab.keyboard.insert_text(text)
    tab.wait_for_selector("[data-judged]")
    tab.locator('section[aria-label="Reply"] .cm-content').click()
    tab.keyboard.press("Control+Home")
    return list(tab.evaluate(TYPING, "every reply is untrusted " * (keys // 25 + 1)))[:keys]


class Filtered(NamedTuple):
    """A filter: milliseconds until its first rows and its counts are there, and how many elements the page has then."""

    rows: float
    counts: float
    elements: int


def filtering(tab: Any, base: str) -> dict[str, Filtered]:
    """Every filter, by the median of three turns."""
    found: dict[str, Filtered] = {}
    for name, query in FILTERS.items():
        times: list[list[float]] = []
        for turn in range(3):  # another order of the same, so that nothing is answered from memory
            tab.evaluate(GOING, f"{base}/verdicts?until={2_000_000_000 + turn}")
            address = (
                f"{base}/verdicts?{query}&until={2_000_000_000 + 10 * turn + 1}"
                if query
                else f"{base}/verdicts?until={2_000_000_000 + 10 * turn + 2}"
            )
            times.append(tab.evaluate(GOING, address))
        rows, counts = (statistics.median(each) for each in zip(*times, strict=True))
        found[name] = Filtered(rows, counts, tab.evaluate("document.querySelectorAll('*').length"))
    return found


def labelling(tab: Any, base: str, turns: int) -> list[float]:
    """Milliseconds from the key that labels to the next verdict under the cursor."""
    tab.evaluate(GOING, f"{base}/verdicts?ok=false")
    tab.locator("[role=grid]").press("j")
    script = """async () => {
      const began = performance.now();
      const before = document.querySelector('[role=row].at')?.id;
      dispatchEvent(new KeyboardEvent('keydown', {key: 'r', bubbles: true}));
      await new Promise((done) => {
        const look = () => document.querySelector('[role=row].at')?.id !== before ? requestAnimationFrame(() => done()) : setTimeout(look, 1);
        look();
      });
      return performance.now() - began;
    }"""
    return [
        tab.evaluate(script.replace("dispatchEvent(", "document.querySelector('[role=grid]').dispatchEvent("))
        for _ in range(turns)
    ]


def p95(times: list[float]) -> float:
    return sorted(times)[max(0, round(len(times) * 0.95) - 1)]


def measure(browser: Any, store: Path, keys: int) -> tuple[list[Row], dict[str, Filtered]]:
    """All rows of the page."""
    rows = []
    loaded = index("", "")
    size = len(loaded) + sum(len(asset.packed or asset.body) for name, asset in assets().items() if name in loaded)
    rows.append(Row("assets, compressed", f"{size / 1000:.0f} KB", "250 KB", size <= 250_000))
    with studio("--demo") as (url, _):
        kept = signed_in(browser, url)
        cpu, wall = ready(browser, url, kept)
        rows.append(Row("ready: CPU of the page", f"{cpu:.2f} s", "1 s", cpu <= 1))
        rows.append(Row("ready: wall time", f"{wall:.2f} s", "", met=True))
        tab = browser.new_page(viewport={"width": 1440, "height": 900}, storage_state=kept)
        tab.goto(url)
        tab.wait_for_selector("[data-judged]")
        times = typing(tab, 10_000, keys)
        rows.append(Row("keystroke to verdict, 10 KB: median", f"{statistics.median(times):.0f} ms", "", met=True))
        rows.append(Row("keystroke to verdict, 10 KB: p95", f"{p95(times):.0f} ms", "150 ms", p95(times) <= 150))
        large = typing(tab, 1_000_000, 20)
        rows.append(Row("keystroke to verdict, 1 MB: median", f"{statistics.median(large):.0f} ms", "", met=True))
        tab.close()
    with studio("--store", str(store)) as (url, _):
        tab = browser.new_page(viewport={"width": 1440, "height": 900})
        tab.goto(url)
        tab.wait_for_selector("main[data-ready]")
        base = tab.url.rsplit("/", 1)[0]
        tab.locator('nav a[href$="/verdicts"]').click()
        tab.wait_for_selector("[data-rows=ready]")
        filtered = filtering(tab, base)
        for what in ("rows", "counts"):
            slowest = max(filtered, key=lambda name: getattr(filtered[name], what))
            took = getattr(filtered[slowest], what)
            rows.append(Row(f"slowest filter, {what} ({slowest})", f"{took:.0f} ms", "300 ms", took <= 300))
        nodes = max(each.elements for each in filtered.values())
        rows.append(Row("most elements of the page", f"{nodes}", "500", nodes <= 500))
        labels = labelling(tab, base, 40)
        rows.append(Row("label and next: p95", f"{p95(labels):.0f} ms", "100 ms", p95(labels) <= 100))
        tab.close()
    return rows, filtered


def page(rows: list[Row], filtered: dict[str, Filtered], verdicts: str) -> str:
    lines = [
        "# The studio, measured", "",
        f"`make bench-studio`, on {os.cpu_count()} cores of {platform.machine()}, Python {platform.python_version()}, Debian's Chromium. Everything is timed inside the page, from the key or the",
        "new address to the DOM that shows the answer, and one frame more.", "",
        "| what | measured | bar | |", "|---|---|---|---|",
        *(f"| {row.name} | {row.figure} | {row.bar and '≤ ' + row.bar} | {'' if not row.bar else 'met' if row.met else 'not met'} |" for row in rows), "",
        f"## Filters on {verdicts} stored verdicts", "",
        "Rows: until the first ones are drawn, or until the page says how far back it has searched; a longer search continues automatically while the page is open.",
        "Counts: until the numbers next to the filters are drawn; if counting takes longer, they are lower bounds, such as 10,000+.", "",
        "| filter | rows | counts | elements |", "|---|---|---|---|",
        *(f"| {name} | {each.rows:.0f} ms | {each.counts:.0f} ms | {each.elements} |" for name, each in filtered.items()), "",
        f"Peak memory of the measuring process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB.", "",
    ]  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--verdicts", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=120)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        store = options.store
        if store is None:
            store = Path(folder) / "big.db"
            subprocess.run(
                [sys.executable, "bench/big_store.py", str(store), "--verdicts", str(options.verdicts)],
                check=True,
                cwd=ROOT,
            )
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        rows, filtered = measure(browser, store, options.keys)
        browser.close()
    text = page(rows, filtered, f"{options.verdicts:,}")
    print(text)
    if options.markdown:
        options.markdown.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
