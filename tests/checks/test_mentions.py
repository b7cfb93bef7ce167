"""T7: prose about tools that do not exist, and claims of calls that were not made."""

from typing import Any

import pytest

from trueup import Contract

pytestmark = pytest.mark.spec("T7")

NAMES = ["check_adapter_status", "get_ip_config", "ping_gateway", "book_table", "sendEmail", "cancel"]
TOOLS: list[dict[str, Any]] = [{"name": name} for name in NAMES]
TOOLS.append(
    {
        "name": "search",
        "parameters": {
            "type": "object",
            "properties": {"query_text": {"type": "string"}, "sort_order": {"enum": ["by_date_desc", "by_name"]}},
        },
    }
)
CONTRACT = Contract(tools=TOOLS)
CLAIMS = Contract(
    tools=TOOLS, calls={"claims": {"book_table": ["I've reserved", "he reservado"], "cancel": ["is cancelled"]}}
)


def mentions(text: str, contract: Contract = CONTRACT, **context: Any) -> list[tuple[str, str]]:
    return [(f.code, f.data["name"]) for f in contract.check(text, context=context or None).findings]


LOUD = [
    ("wifi_status says ok.", "wifi_status"),
    ("According to wifi_status, the link is up.", "wifi_status"),
    ("RUNNING check_network_status", "check_network_status"),
    ("I ran check_network_status and it is fine.", "check_network_status"),
    ("I called check_network_status.", "check_network_status"),
    ("I'm running check_network_status now.", "check_network_status"),
    ("I will call the tool check_network_status.", "check_network_status"),
    ("I used check_network_status to look.", "check_network_status"),
    ("I've used the reset_router tool.", "reset_router"),
    ("Let me use the function reset_router for that.", "reset_router"),
    ("Then I use `reset_router`.", "reset_router"),
    ("`check_network_status` shows an error.", "check_network_status"),
    ("`reset_router(hard=True)` did it.", "reset_router"),
    ("check_network_status() returned ok.", "check_network_status"),
    ("reset_router(hard=True) was needed.", "reset_router"),
    ("I executed resetRouter for you.", "resetRouter"),
    ("Ejecuté reset_router y funciona.", "reset_router"),
    ("He ejecutado la herramienta reset_router.", "reset_router"),
    ("Estoy ejecutando reset_router.", "reset_router"),
    ("The result of check_network_status is fine.", "check_network_status"),  # begins and ends like an offered name
    ("See check_adapter_speed for that.", "check_adapter_speed"),  # begins like one
    ("The wifi_adapter_status is ok.", "wifi_adapter_status"),  # ends like one
    ("Let me use check_cable.", "check_cable"),
    ("The check_firewall tool says ok", "check_firewall"),
    ("Based on get_wifi_signal results, you are too far away.", "get_wifi_signal"),
    ("The output of get_route_table shows two gateways.", "get_route_table"),
    ("wifi_status", "wifi_status"),
    ("According to get_signal_strength, the signal is weak.", "get_signal_strength"),
    ("get_signal_strength: -71 dBm", "get_signal_strength"),
    ("check_cable will tell us more.", "check_cable"),
    ("check_cable didn't find anything.", "check_cable"),
    ("I have just restarted it using reset_router.", "reset_router"),
    ("I looked at the cache via flush_dns_cache.", "flush_dns_cache"),
    ("Here is the plan:\n- ping_gateway\n- check_cable to see the plug", "check_cable"),
    ("**Step 2: check_vpn**\nIt is on.", "check_vpn"),
    ("Do you want me to call renew_lease?", "renew_lease"),
    ("My next move is a call to get_signal_strength.", "get_signal_strength"),
    ("I'll use the `nslookup` tool.", "nslookup"),
    ("I'll use ping_gateway, get_ip_config and made_up_thing.", "made_up_thing"),
    ("Voy a usar reset_router.", "reset_router"),
    ("Según get_signal_strength, la señal es débil.", "get_signal_strength"),
    ("Ich habe reset_router ausgeführt.", "reset_router"),
    ("Laut get_signal_strength ist das Signal schwach.", "get_signal_strength"),
    ("Das Tool reset_router meldet Erfolg.", "reset_router"),
    ("L'outil verifier_cable indique que tout va bien.", "verifier_cable"),
    ("D'après get_signal_strength, le signal est faible.", "get_signal_strength"),
    ("Ho usato reset_router.", "reset_router"),
    ("Usei a ferramenta reset_router.", "reset_router"),
    ("我使用了reset_router工具。", "reset_router"),
    ("reset_routerを実行しました。", "reset_router"),
]


@pytest.mark.parametrize(("text", "name"), LOUD)
def test_a_tool_that_does_not_exist_is_a_warning(text: str, name: str) -> None:
    verdict = CONTRACT.check(text)
    (found,) = verdict.findings
    assert (found.code, found.level, found.data["name"]) == ("T011", "warning", name)
    assert found.span is not None
    assert text[slice(*found.span)] == name
    assert verdict.ok


QUIET = [
    "The response's http_status says 404.",
    "Your router's wan_status reads connected.",
    "<start_function_call> and <|check_call_end|> are marks of another dialect.",
    "Read get_started first.",
    "The http_status was 200.",
    "Set max_retries and base_url in config_file.",
    "snake_case is a way to write names, and use_case is another.",
    "Please give me your first_name and last_name.",
    "Use snake_case for that.",
    "I used utf_8 encoding.",
    "Run test_all.py in src/my_module/tests.",
    "Running test_suite.py takes a while.",
    "The file is called my_report.pdf.",
    "os.path.join_all and self.my_method are methods.",
    "```python\nresult = compute_total(items)\nprint(my_value)\n```",
    "I will call check_adapter_status next.",
    "I'll run `ping_gateway`.",
    "`ping_gateway(host)` pings.",
    "`functions.ping_gateway` or `ping-gateway`.",
    "Please set `query_text` and `sort_order` to `by_date_desc`.",
    "I called my mother. I ran home. We used it.",
    "Call me tomorrow.",
    "Nothing here.",
    "",
    "2024_01_02 and a_1",
    "The adapter came back as `media_disconnected`.",
    "In the result, `dhcp_enabled` is true but `default_gateway` is empty.",
    "The counter `rx_dropped` has climbed to 12,402.",
    "Your function `get_user_by_id` returns None.",
    "In your script, `get_default_gateway()` returns None.",
    "I saw that `load_settings` is imported twice.",
    "There are 11 call sites of `parse_date`.",
    "Use `date_trunc('month', created_at)` and `row_number() over (...)`.",
    "You can run update_drivers from the menu.",
    "Could you run update_drivers and tell me what it says?",
    "There's no run_speedtest among the tools I can use.",
    "I don't have a check_cable tool.",
    "You asked me to use the nslookup tool.",
    "I cannot use the nslookup tool.",
    "check_cable is not one of my tools.",
    "You asked me to use web_browse, but I can only look here.",
    "Filter with order_date and sort by created_at.",
    "Based on order_total, shipping is free.",
    "Your order_id is 1234 and the order_status is shipped.",
    "wpa_supplicant reported an error.",
    "I'm running low_latency mode.",
    "I did a quick follow-up and a step-by-step check-in.",
    "`test_login` failed with a timeout.",
    "The error `DNS_PROBE_FINISHED_NXDOMAIN` means that the name is unknown.",
    "You're connected to Guest_Network_2F on docker_gwbridge.",
    "See https://example.org/get_started_now and /etc/my_app/check_list.conf.",
    "Mail me at check_in@example.org.",
]


@pytest.mark.parametrize("text", QUIET)
def test_other_prose_stays_quiet(text: str) -> None:
    assert [f for f in CONTRACT.check(text).findings if f.code in ("T011", "T012")] == []


def test_the_closest_tool_is_suggested() -> None:
    (found,) = CONTRACT.check("I ran check_adaptor_status.").findings
    assert found.data == {"name": "check_adaptor_status", "closest": "check_adapter_status"}
    assert "check_adapter_status" in found.message
    (found,) = CONTRACT.check("I ran reboot_everything.").findings
    assert found.data["closest"] is None


def test_each_name_is_reported_once_and_their_number_is_limited() -> None:
    assert mentions("I ran reset_router. I ran reset_router. `reset_router`") == [("T011", "reset_router")]
    assert len(mentions(" ".join(f"I ran made_up_{i}." for i in range(100)))) == 10


CLAIMED = [
    ("I ran check_adapter_status and it is up.", "check_adapter_status"),
    ("I've run ping_gateway.", "ping_gateway"),
    ("I have already called the ping_gateway tool.", "ping_gateway"),
    ("I just used `ping_gateway`.", "ping_gateway"),
    ("We executed get_ip_config.", "get_ip_config"),
    ("I called sendEmail.", "sendEmail"),
    ("He ejecutado ping_gateway.", "ping_gateway"),
    ("Ya llamé a la puerta. Ejecuté ping_gateway.", "ping_gateway"),
    ("I've booked the table for you.", "book_table"),
    ("I have booked your table at 8.", "book_table"),
    ("I've cancelled it.", "cancel"),
]


@pytest.mark.parametrize(("text", "name"), CLAIMED)
def test_a_claim_without_a_call_is_a_warning(text: str, name: str) -> None:
    assert mentions(text) == [("T012", name)]


@pytest.mark.parametrize(("text", "name"), CLAIMED)
def test_a_claim_of_a_call_that_was_made_is_fine(text: str, name: str) -> None:
    call = {
        "role": "assistant",
        "content": text,
        "tool_calls": [{"id": "a", "function": {"name": name, "arguments": "{}"}}],
    }
    assert CONTRACT.check(call).findings == ()
    assert mentions(text, history=[call]) == []


UNCLAIMED = [
    "I can book a table for you.",
    "I've booked a flight.",
    "Shall I run ping_gateway?",
    "I will run ping_gateway.",
    "You ran ping_gateway.",
    "I could not call ping_gateway.",
    "I haven't booked the table.",
]


@pytest.mark.parametrize("text", UNCLAIMED)
def test_other_statements_are_not_claims(text: str) -> None:
    assert mentions(text) == []


def test_claims_are_configurable() -> None:
    assert mentions("I’ve reserved a place.", CLAIMS) == [("T012", "book_table")]
    assert mentions("Te HE RESERVADO mesa.", CLAIMS) == [("T012", "book_table")]
    assert mentions("Your order is cancelled.", CLAIMS) == [("T012", "cancel")]
    assert mentions("I've reserved a place.") == []
    with pytest.raises(ValueError, match="'book_tabel'"):
        Contract(tools=TOOLS, calls={"claims": {"book_tabel": ["x"]}})


def test_mentions_can_be_switched_off() -> None:
    quiet = Contract(tools=TOOLS, calls={"mentions": False})
    assert quiet.check("I ran check_network_status and ping_gateway.").findings == ()


def test_a_call_that_was_read_from_the_text_is_not_prose_about_a_tool() -> None:
    leak = '<tool_call>{"name": "functions.ping_gateway", "arguments": {"made_up_name": "`reset_router`"}}</tool_call>'
    assert mentions(f"Now.\n{leak}") == []
    assert mentions(f"I ran reset_router.\n{leak}\nI ran check_adapter_status.") == [
        ("T011", "reset_router"),
        ("T012", "check_adapter_status"),
    ]


def test_spans_are_those_of_the_original_text() -> None:
    text = '<tool_call>{"name": "ping_gateway", "arguments": {}}</tool_call>\nI ran reset_router.'
    (found,) = CONTRACT.check(text).findings
    assert found.span is not None
    assert text[slice(*found.span)] == "reset_router"


WRITTEN = [
    '<tool_call>{"name": "get_booking", "arguments": {"id": 1}}</tool_call>',
    '{"name": "get_booking", "arguments": {"id": 1}}',
    "<function=get_booking><parameter=id>1</parameter></function>",
    '[TOOL_CALLS]get_booking{"id": 1}',
    '<tool_call>[{"name": "ping_gateway", "arguments": {}}, {"name": "get_booking", "arguments": {}}]</tool_call>',
    'Action: get_booking\nAction Input: {"id": 1}',
]


@pytest.mark.parametrize("text", WRITTEN)
def test_a_written_call_of_an_unknown_tool_is_a_warning_and_not_a_call(text: str) -> None:
    verdict = CONTRACT.check(text)
    assert [(f.code, f.data["name"]) for f in verdict.findings] == [("T011", "get_booking")]
    assert [c.name for c in verdict.calls] == ["ping_gateway"] * ("ping" in text)


@pytest.mark.parametrize(
    "text", ['{"name": "Ada", "age": 36}', '{"name": "Ada", "input": "x"}', "<b>bold</b>", "print(x)\nfoo(1)"]
)
def test_data_and_code_are_not_calls_of_unknown_tools(text: str) -> None:
    assert mentions(text) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Anoche reservado.", ""),
        ("Anoche reservado, y hoy he reservado otra.", "he reservado"),
        ("Straße und Maß: HE RESERVADO la mesa.", "HE RESERVADO"),
        ("İstanbul: he reservado.", "he reservado"),
        ("I’ve reserved it.", "I’ve reserved"),
        ("Der Tisch: groß bestellt.", "groß bestellt"),
    ],
)
def test_a_claim_begins_at_a_word_and_its_position_is_right(text: str, said: str) -> None:
    claims = {"book_table": ["he reservado", "I've reserved", "Groß bestellt"]}
    found = Contract(tools=TOOLS, calls={"claims": claims}).check(text).findings
    assert [text[slice(*f.span)] for f in found if f.span] == ([said] if said else [])


@pytest.mark.parametrize(
    "text",
    ["The `created_at` field is empty.", "column `user_id` is null", "Set the parameter named `max_size` to 5.", "El campo `user_id` falta."],
)  # fmt: skip
def test_a_name_that_is_called_data_is_not_a_tools(text: str) -> None:
    assert mentions(text) == []
    assert mentions("I used `created_at` here.") == [("T011", "created_at")]


# -- the names of the offered tools --------------------------------------------------------------------


def mentioned_tools(text: str, *names: str, **asked: Any) -> list[str]:
    contract = Contract(tools=[{"name": name} for name in names], calls={"mentions": asked or True})
    return [f.data["name"] for f in contract.check(text).findings if f.code == "T011"]


MADE = [
    ("I'll remove it with calendar.delete_event.", ["calendar.create_event", "mail.send"], ["calendar.delete_event"]),
    ("contacts.lookup returned two people.", ["calendar.create_event", "mail.send"], ["contacts.lookup"]),
    ("Put it into agenda.docx and read notes.md.", ["calendar.create_event", "mail.send"], []),
    ("I used turn-off-light in the bedroom.", ["turn-on-light", "lock-door"], ["turn-off-light"]),
    ("That is an up-to-date, step-by-step follow-up.", ["turn-on-light", "lock-door"], []),
    ("I used turn-off-light in the bedroom.", ["turn_on_light", "lock_door"], []),  # no offered name has a dash
    ("getExchangeRate says 161 yen.", ["searchFlights", "bookHotel"], ["getExchangeRate"]),
    ("To book it I need the iPhone, macOS or BlaBlaCar.", ["searchFlights", "bookHotel"], []),
    ("I'll use the summarize tool, then I call `outline`.", ["search", "fetch"], ["outline", "summarize"]),
    ("I'll use the right tool for that.", ["search", "fetch"], []),
    ("I'll use the summarize tool.", ["web_search", "web_fetch"], ["summarize"]),
    ("I'll use the search tool, the right tool and a diagnostic tool.", ["web_search", "web_fetch"], []),
    ("There is an outline tool, or `outline`.", ["web_search", "web_fetch"], []),
    ("The order_cancel tool is done; order_archive too.", ["order_create", "order_delete"], ["order_archive", "order_cancel"]),
    ("The order_items are complete, says order_history.", ["order_create", "order_delete"], []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "names", "found"), MADE)
def test_the_offered_names_decide_what_a_name_looks_like(text: str, names: list[str], found: list[str]) -> None:
    assert sorted(mentioned_tools(text, *names)) == found


NET = ["check_adapter_status", "get_ip_config"]


def test_names_that_the_reply_defines_are_not_tools() -> None:
    code = "```python\ndef load_users(path):\n    return read(path)\n```\n"
    assert mentioned_tools(f"{code}load_users gives you one dict per line.", *NET) == []
    assert mentioned_tools("load_users gives you one dict per line.", *NET) == ["load_users"]
    assert mentioned_tools(f"{code}check_cable gives 12 m.", *NET) == ["check_cable"]


@pytest.mark.parametrize(
    ("text", "names", "found"),
    [
        ("- check_adapter_status: up\n- wifi_scan: 14 networks\n- link_speed: 100", NET, ["wifi_scan"]),
        ("- link_speed: 100\n- wifi_scan: 14 networks", NET, []),
        ("get_ip_config and wifi_scan both failed.", NET, ["wifi_scan"]),
        ("| get_ip_config | ok |\n| wifi_scan | slow |", NET, ["wifi_scan"]),
        ("Two options are left: get_ip_config or link_speed.", NET, []),
        ("`get_ip_config`, `wifi_scan` und dann Feierabend.", NET, ["wifi_scan"]),
    ],
)
def test_the_other_items_of_a_list_of_tools_are_tools(text: str, names: list[str], found: list[str]) -> None:
    assert mentioned_tools(text, *names) == found


# -- settings of a contract ----------------------------------------------------------------------------


def test_prefixes_suffixes_and_patterns_count_anywhere() -> None:
    text = "See net_report, wifi_status, speedtest and http_status."
    assert mentioned_tools(text, *NET) == []
    assert mentioned_tools(text, *NET, prefixes=["net_"]) == ["net_report"]
    assert mentioned_tools(text, *NET, suffixes=["_status"]) == ["wifi_status", "http_status"]
    assert mentioned_tools(text, *NET, patterns=["speed.*"]) == ["speedtest"]
    assert mentioned_tools(text, *NET, patterns=["status"]) == []  # the whole name
    assert mentioned_tools(text, *NET, suffixes=["_status"], ignore=["http_*"]) == ["wifi_status"]
    assert mentioned_tools("I ran check_cable.", *NET, ignore=["check_cable"]) == []
    assert mentioned_tools("check_adapter_status", *NET, prefixes=["check_"]) == []
    assert mentioned_tools("I ran nothing and used it.", *NET, prefixes=["check_"]) == []


def test_the_level_can_be_set() -> None:
    contract = Contract(tools=[{"name": name} for name in NET], calls={"mentions": {"level": "error"}})
    verdict = contract.check("I ran check_cable.")
    assert [(f.code, f.level) for f in verdict.findings] == [("T011", "error")]
    assert not verdict.ok
    written = contract.check('<tool_call>{"name": "get_booking", "arguments": {}}</tool_call>')
    assert [(f.code, f.level) for f in written.findings] == [("T011", "error")]


@pytest.mark.parametrize(
    ("mentions", "says"),
    [
        ({"patterns": ["(?=a)"]}, "the pattern .* of mentions cannot be used"),
        ({"prefix": ["a"]}, "unknown field"),
        ({"level": "info"}, "Invalid enum value"),
        ("yes", "mentions"),
    ],
)
def test_wrong_settings_are_refused(mentions: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Contract(tools=[{"name": "ping"}], calls={"mentions": mentions})
