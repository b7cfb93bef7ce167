"""T3, X15: the meaning of a name among the offered tools."""

import pytest

from tests.growth import assert_at_most
from trueup.checks.toolset import Toolset, skeleton
from trueup.verdict.tool import Tool


def toolset(*names: str) -> Toolset:
    return Toolset(Tool(name) for name in names)


NET = toolset("check_adapter_status", "get_ip_config", "ping_gateway", "search_tool", "search", "a.b", "srv__find")

MEANT = [
    ("functions.search", ["search"]),
    ("function.search", ["search"]),
    ("tools.search", ["search"]),
    ("tool.search", ["search"]),
    ("proxy_search", ["search"]),
    ("default_api.search", ["search"]),
    ("SearchTool", ["search_tool"]),
    ("searchTool", ["search_tool"]),
    ("SEARCH_TOOL", ["search_tool"]),
    ("search-tool", ["search_tool"]),
    ("search.tool", ["search_tool"]),
    ("getIpConfig", ["get_ip_config"]),
    ("GetIPConfig", ["get_ip_config"]),
    ("web__search", ["search"]),
    ("mcp__web__search", ["search"]),
    ("web.search", ["search"]),
    ("web/search", ["search"]),
    ("web:search", ["search"]),
    ("search:0", ["search"]),
    ("search<|channel|>commentary", ["search"]),
    ("functions.search<|constrain|>json", ["search"]),
    ("search()", ["search"]),
    ('"search"', ["search"]),
    ("`search`", ["search"]),
    ("functions.search:12", ["search"]),
    ("functions.SearchTool:1", ["search_tool"]),
    ("a_b", ["a.b"]),
    ("find", ["srv__find"]),
    ("other__find", ["srv__find"]),
]
MEANS_NONE = ["check_adaptor_status", "completely_different", "", "_", ":", "search!", "sea rch", "search\n", "searches", "x" * 5000]  # fmt: skip


@pytest.mark.spec("T3")
@pytest.mark.parametrize(("name", "tools"), MEANT)
def test_a_name_by_convention_means_its_tool(name: str, tools: list[str]) -> None:
    assert NET.by_convention(name) == tools
    assert NET.offers(name)
    assert NET.meant(name) == tools[0]


@pytest.mark.spec("T3")
@pytest.mark.parametrize("name", MEANS_NONE)
def test_other_names_mean_no_tool(name: str) -> None:
    assert NET.by_convention(name) == []
    assert not NET.offers(name)
    assert NET.meant(name) == name


@pytest.mark.spec("T3")
@pytest.mark.parametrize(
    ("tools", "name", "fits"),
    [
        (("get_data", "getData"), "GetData", ["get_data", "getData"]),
        (("a__search", "b__search"), "search", ["a__search", "b__search"]),
        (("a__search", "b__search"), "c__search", ["a__search", "b__search"]),
        (("x_y", "x-y"), "xY", ["x_y", "x-y"]),
    ],
)
def test_two_tools_that_fit_are_both_named_and_neither_is_chosen(
    tools: tuple[str, ...], name: str, fits: list[str]
) -> None:
    offered = toolset(*tools)
    assert offered.by_convention(name) == fits
    assert not offered.offers(name)
    assert offered.offers(tools[0])


@pytest.mark.spec("T3")
@pytest.mark.parametrize(
    ("name", "closest"),
    [
        ("check_adaptor_status", "check_adapter_status"),
        ("check_adapter_stats", "check_adapter_status"),
        ("functions.check_adaptor_status", "check_adapter_status"),
        ("net__check_adaptor_status", "check_adapter_status"),
        ("get_ip_confg", "get_ip_config"),
        ("completely_different", None),
        ("x", None),
        ("", None),
        ("PingGatewayTool", "ping_gateway"),
        ("CheckAdaptorStatus", "check_adapter_status"),
    ],
)
def test_the_closest_name_is_suggested(name: str, closest: str | None) -> None:
    assert NET.closest(name) == closest


LOOK_ALIKES = [
    "ѕearch",  # Cyrillic s
    "seаrch",  # Cyrillic a
    "sеarch",  # Cyrillic e
    "ѕеаrсһ",
    "sear\u200bch",
    "search\u200d",
    "\ufeffsearch",
    "search\u00ad",
    "\u202esearch",
    "ｓｅａｒｃｈ",
    "séarch",
    "search\x00",
    "search ",
    " search",
    "search\u00a0",
    "search\U000e0020",
]


@pytest.mark.spec("X15")
@pytest.mark.parametrize("name", LOOK_ALIKES, ids=ascii)
def test_a_look_alike_means_no_tool_and_is_recognized(name: str) -> None:
    assert NET.by_convention(name) == []
    assert not NET.offers(name)
    assert NET.looks_like(name) == "search"


@pytest.mark.spec("X15")
def test_a_tool_with_foreign_letters_is_called_only_by_its_exact_name() -> None:
    offered = toolset("búsqueda", "naïve_bayes")
    assert offered.offers("búsqueda")
    assert not offered.offers("busqueda")
    assert not offered.offers("bu\u0301squeda")
    assert offered.looks_like("bu\u0301squeda") == "búsqueda"
    assert offered.looks_like("búsqueda") in (None, "búsqueda")


def test_a_skeleton_is_plain() -> None:
    assert skeleton("ｃｈеck\u200b_ѕtаtuѕ") == "check_status"


def test_ten_thousand_tools_take_no_longer_than_ten() -> None:
    few, many = toolset(*(f"tool_{i}" for i in range(10))), toolset(*(f"tool_{i}" for i in range(10_000)))

    def asked(offered: Toolset) -> None:
        offered.offers("tool_7")
        offered.offers("functions.Tool7")

    asked(few), asked(many)  # objects that are created on the first use are not checked
    assert_at_most(4, lambda: asked(many), lambda: asked(few))
