"""The page of bench/gateway.py: figures enter, Markdown leaves, with the targets, met or not."""

from typing import Any

Result = dict[str, Any]
HEAD = """# The gateway, measured

`make bench-gateway`, one run on this machine; each gateway has one worker. The upstream immediately answers with a chat completion of 80
characters of JSON; the client keeps its connections. *Added* is the median time of a request on one connection, minus the time of a
request straight to the upstream. *CPU* is what the gateway's own process used for one request with 16 connections (all its
threads, as the kernel counts, the best of several rounds); *a core* is one second divided by that; *to bare* and *to own* compare it with
the bare pass-through and with trueup's own pass-through. *First byte* is the time to the first byte of a stream, minus the time without
a gateway. With quota, a reply is reserved before the upstream is asked, and its charge is on disk before the reply is sent.
"""
PARTS = (
    ("uvicorn, trueup's own client, the kernel", "bare-own", None),
    ("trueup's reading, routes, deadlines, headers, counters", "trueup-pass", "bare-own"),
    ("asking by the plan, reading the reply, the schema", "trueup-schema", "trueup-pass"),
    ("tools and 60 patterns of the state", "trueup-judged", "trueup-schema"),
    ("the stored verdict, its writing thread with it", "trueup-all", "trueup-judged"),
    ("quota: a reservation and a capture on disk", "trueup-quota", "trueup-all"),
)
AFTER = """
The bare pass-through uses aiohttp's client, as most programs do. The gateway has its own client, so a bare pass-through with that
client is also measured: it shows what the gateway itself adds. Each figure is the best of several rounds on a machine that does other
work too, so the same row differs by a tenth from run to run.
"""


def page(result: Result, names: dict[str, str]) -> str:
    rows, machine = result["rows"], result["machine"]
    lines = [
        HEAD,
        f"Python {machine['python']}, {machine['cores']} cores that others use too{', the quick form' if machine['quick'] else ''}.",
        "",
    ]
    lines += [
        "| through | p50 ms | added ms | p99 ms | CPU µs | requests/s a core | CPU to bare | CPU to own | first byte ms over direct |"
    ]
    lines += ["|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    own = rows.get("trueup-pass")
    for name, said in names.items():
        row = rows.get(name)
        if row is None:
            if name == "litellm":
                lines.append(f"| {said} | {result.get('litellm', 'not measured')} | | | | | | | |")
            continue
        shown = [f"{row['p50']:.2f}", f"{row['added']:+.2f}", f"{row['p99']:.2f}", f"{row['cpu']:.0f}", f"{row['a_core']:,.0f}",
                 f"{row['ratio']:.2f} ×", "-" if own is None else f"{row['cpu'] / own['cpu']:.2f} ×", f"{row['first']:+.2f}"]  # fmt: skip
        lines.append(f"| {said} | " + " | ".join(shown if name != "upstream" else [*shown[:5], "-", "-", "-"]) + " |")
    lines += ["", *_targets(result)]
    lines += ["", *_budget(rows), AFTER.rstrip()]
    if "soak" in result:
        lines += ["", *_soak(result["soak"])]
    return "\n".join(lines) + "\n"


def _targets(result: Result) -> list[str]:
    rows = result["rows"]
    whole, passed, lite = rows.get("trueup-all"), rows.get("trueup-pass"), rows.get("litellm")
    if whole is None or passed is None:
        return []
    charged = rows.get("trueup-quota")
    found: list[tuple[str, str, bool | None]] = [
        ("added p50, passing through, at most 1 ms", f"{passed['added']:.2f} ms", passed["added"] <= 1),
        ("added p50, everything judged and stored, at most 1 ms", f"{whole['added']:.2f} ms", whole["added"] <= 1),
        ("requests/s a core with validation, at least 2,000", f"{whole['a_core']:,.0f}", whole["a_core"] >= 2000),
        ("first streamed byte over direct, at most 2 ms", f"{whole['first']:.2f} ms", whole["first"] <= 2),
        _share("CPU to bare, passing through", passed["ratio"], 1.1),
        _share("CPU to bare, everything judged and stored", whole["ratio"], 2.7),
    ]
    if charged is not None:
        found += [
            _share("CPU to bare, with quota", charged["ratio"], 3.5),
            ("CPU with quota, at most 500 µs", f"{charged['cpu']:.0f} µs", charged["cpu"] <= 500),
            ("p50 with quota, at most 1 ms", f"{charged['p50']:.2f} ms", charged["p50"] <= 1),
            ("CPU to own pass-through, with quota, no target", f"{charged['cpu'] / passed['cpu']:.2f} ×", None),
        ]
    own = rows.get("bare-own")
    if own is not None:
        found.append(
            ("CPU to bare on trueup's own client, everything, no target", f"{whole['cpu'] / own['cpu']:.2f} ×", None)
        )
    if lite is not None:
        beside = {"trueup-pass": "passing through", "trueup-all": "everything", "trueup-quota": "everything with quota"}
        for name, what in beside.items():
            if name in rows:
                share = lite["cpu"] / rows[name]["cpu"]
                found.append((f"CPU of LiteLLM's proxy to ours, {what}, at least 30 ×", f"{share:.0f} ×", share >= 30))
    lines = ["| target | measured | |", "|---|---:|---|"]
    words = {True: "met", False: "**not met**", None: "-"}
    return lines + [f"| {said} | {value} | {words[met]} |" for said, value, met in found]


def _share(said: str, ratio: float, most: float) -> tuple[str, str, bool | None]:
    return f"{said}, at most {most:g} ×", f"{ratio:.2f} ×", ratio <= most


def _budget(rows: Result) -> list[str]:
    """Where the CPU of a request goes: the differences between rows of this run."""
    if not all(name in rows for _, name, _ in PARTS):
        return []
    lines = [
        "Where the CPU of a request goes, as the differences between the rows above:",
        "",
        "| part | CPU µs |",
        "|---|---:|",
    ]
    for said, name, before in PARTS:
        cost = rows[name]["cpu"] - (rows[before]["cpu"] if before else 0)
        lines.append(f"| {said} | {cost:.0f} |")
    return lines


def _soak(soak: Result) -> list[str]:
    memory = soak["memory"]
    third = max(1, len(memory) // 3)
    early, late = sum(memory[:third]) / third, sum(memory[-third:]) / third
    flat = late <= early * 1.05 + 2
    said = (
        f"{soak['minutes']:g} minutes at 80 % of what it can do here, everything judged and stored: {soak['requests']:,} requests"
        f" ({soak['rps']:.0f}/s), {soak['errors']} errors, p50 {soak['p50']:.2f} ms, p99 {soak['p99']:.2f} ms; memory"
        f" {memory[0]:.0f} MB at first, {early:.0f} MB in the first third, {late:.0f} MB in the last: {'flat' if flat else '**not flat**'}."
    )
    return [said]
