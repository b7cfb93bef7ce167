"""The dashboard for Grafana, compared with the page of a real gateway."""

import json
import re
from pathlib import Path
from typing import Any

import httpx

from tests.gateway.conftest import GOOD, PERSON, QUICK
from tests.gateway.test_keeping import old_store
from tests.waiting import wait_for
from trueup import Contract
from trueup.gateway.config import of
from trueup.gateway.running import running
from trueup.testing.server import ScriptedServer

DEPLOY = Path(__file__).resolve().parents[2] / "examples" / "deploy"


def queries(dashboard: dict[str, Any]) -> list[str]:
    """Every query of a dashboard, those of its variables among them."""
    panels = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return panels + [each["definition"] for each in dashboard["templating"]["list"] if each["type"] == "query"]


def test_every_metric_of_the_dashboard_is_on_the_metrics_page_of_a_used_gateway(tmp_path: Path) -> None:
    dashboard = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))
    wanted = {name for query in queries(dashboard) for name in re.findall(r"trueup_\w+", query)}
    assert len(wanted) >= 15
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    labels = {
        name
        for query in queries(dashboard)
        for each in re.findall(r"by \(([^)]*)\)", query)
        for name in each.split(", ")
    }
    old_store(tmp_path / "v.db")
    script = [GOOD, "```json\n" + GOOD + "\n```", "no", GOOD]
    with ScriptedServer(script, then="no") as upstream:
        config = of(upstream.url, Contract(PERSON, name="person"), policy=QUICK, store=str(tmp_path / "v.db"))
        with running(config) as gateway:
            ask = {"model": "m", "messages": [{"role": "user", "content": "Who?"}]}
            for _ in range(4):
                httpx.post(f"{gateway.url}/v1/chat/completions", json=ask, timeout=60)
            page = wait_for(
                lambda: "trueup_pruned_total" in (text := httpx.get(f"{gateway.url}/metrics").text) and text
            )
    there = set(re.findall(r"^(trueup_\w+)", page, re.MULTILINE))
    assert wanted <= there, sorted(wanted - there)
    assert labels - {"le", "instance"} <= set(re.findall(r'(\w+)="', page))
