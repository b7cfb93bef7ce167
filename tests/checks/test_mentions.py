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


def test_each_name_is_said_once_and_not_without_end() -> None:
    assert mentions("I ran reset_router. I ran reset_router. `reset_router`") == [("T011", "reset_router")]
    assert len(mentions(" ".join(f"`made_up_{i}`" for i in range(100)))) == 10


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
def test_what_is_no_claim_stays_quiet(text: str) -> None:
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
def test_a_written_call_of_no_tool_is_a_warning_and_no_call(text: str) -> None:
    verdict = CONTRACT.check(text)
    assert [(f.code, f.data["name"]) for f in verdict.findings] == [("T011", "get_booking")]
    assert [c.name for c in verdict.calls] == ["ping_gateway"] * ("ping" in text)


@pytest.mark.parametrize(
    "text", ['{"name": "Ada", "age": 36}', '{"name": "Ada", "input": "x"}', "<b>bold</b>", "print(x)\nfoo(1)"]
)
def test_data_and_code_are_no_calls_of_unknown_tools(text: str) -> None:
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
def test_a_claim_begins_where_a_word_does_and_its_place_is_right(text: str, said: str) -> None:
    claims = {"book_table": ["he reservado", "I've reserved", "Groß bestellt"]}
    found = Contract(tools=TOOLS, calls={"claims": claims}).check(text).findings
    assert [text[slice(*f.span)] for f in found if f.span] == ([said] if said else [])


@pytest.mark.parametrize(
    "text",
    ["The `created_at` field is empty.", "column `user_id` is null", "Set the parameter named `max_size` to 5.", "El campo `user_id` falta."],
)  # fmt: skip
def test_a_name_that_is_said_to_be_data_is_none_of_a_tool(text: str) -> None:
    assert mentions(text) == []
    assert mentions("I used `created_at` here.") == [("T011", "created_at")]
