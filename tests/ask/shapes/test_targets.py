"""Messages in one provider's form, converted for every provider: system, text, images, files, calls and their results."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.ask.clients.kinds import KINDS, closing, run
from trueup import Contract, File, Image
from trueup.ask.shapes.anthropic import as_anthropic
from trueup.ask.shapes.bedrock import as_bedrock
from trueup.ask.shapes.cohere import as_cohere
from trueup.ask.shapes.gemini import UNSIGNED, as_gemini
from trueup.ask.shapes.langchain import as_langchain
from trueup.ask.shapes.mistral import as_mistral
from trueup.ask.shapes.ollama import as_ollama
from trueup.ask.shapes.openai import as_openai
from trueup.ask.shapes.parts import MessageError
from trueup.ask.shapes.responses import as_responses
from trueup.testing.script import Say
from trueup.testing.server import ScriptedServer

# google-genai's aiohttp session causes a warning
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(16))
PICTURE = Image(PNG)
OPENAI = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": [
        {"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": PICTURE.data_url}},
    ]},
    {"role": "assistant", "content": "One moment.", "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": '{"what": "cat"}'}},
        {"id": "call_2", "type": "function", "function": {"name": "count", "arguments": "{}"}},
    ]},
    {"role": "tool", "tool_call_id": "call_1", "content": "a cat"},
    {"role": "tool", "tool_call_id": "call_2", "content": "three"},
    {"role": "user", "content": "How many?"},
]  # fmt: skip
CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "openai": as_openai, "anthropic": lambda m: as_anthropic(m)[1], "gemini": lambda m: as_gemini(m)[1],
    "bedrock": lambda m: as_bedrock(m)[1], "cohere": as_cohere, "ollama": as_ollama, "mistral": as_mistral,
    "responses": as_responses, "langchain": as_langchain,
}  # fmt: skip


@pytest.mark.spec("A14")
@pytest.mark.parametrize("kind", KINDS)
def test_a_conversation_in_openais_form_reaches_every_provider(kind: str) -> None:
    before = copy.deepcopy(OPENAI)
    with ScriptedServer([Say("Three.")]) as server:
        asked = run(kind, server, Contract(tools=[{"name": "find"}, {"name": "count"}]), OPENAI)
        sent = server.requests[0].body
    assert asked.answer.text == "Three."
    assert before == OPENAI
    written = sent.decode() if isinstance(sent, bytes) else sent
    for said in ("Be kind.", "Look.", PICTURE.base64, "One moment.", "find", "a cat", "three", "How many?"):
        assert said in written.replace("\\/", "/").replace("-", "+").replace("_", "/") or said in written


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.endswith("-async")])
def test_a_trueup_image_reaches_every_provider(kind: str) -> None:
    with ScriptedServer([Say("A cat.")]) as server:
        asked = run(kind, server, Contract(), [{"role": "user", "content": ["What is it?", Image(PNG)]}])
        sent = server.requests[0].body
    assert asked.answer.text == "A cat."
    written = sent.decode() if isinstance(sent, bytes) else sent
    assert PICTURE.base64 in written.replace("-", "+").replace("_", "/")


def test_anthropic() -> None:
    system, messages = as_anthropic(OPENAI)
    assert system == [{"type": "text", "text": "Be kind."}]
    assert messages[0]["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": PICTURE.base64}
    assert messages[1]["content"] == [
        {"type": "text", "text": "One moment."},
        {"type": "tool_use", "id": "call_1", "name": "find", "input": {"what": "cat"}},
        {"type": "tool_use", "id": "call_2", "name": "count", "input": {}},
    ]
    # all results of a turn are one message, as the protocol requires
    assert messages[2] == {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "call_1", "content": "a cat"},
        {"type": "tool_result", "tool_use_id": "call_2", "content": "three"},
    ]}  # fmt: skip
    assert messages[3] == {"role": "user", "content": "How many?"}


def test_gemini() -> None:
    system, contents = as_gemini(OPENAI)
    assert system == "Be kind."
    assert contents[0]["parts"][1] == {"inline_data": {"mime_type": "image/png", "data": PNG}}
    calls = contents[1]["parts"][1:]
    assert [call["function_call"]["name"] for call in calls] == ["find", "count"]
    assert [call.get("thought_signature") for call in calls] == [UNSIGNED, None]
    assert [part["function_response"]["name"] for part in contents[2]["parts"]] == ["find", "count"]
    assert contents[2]["parts"][0]["function_response"]["response"] == {"output": "a cat"}


def test_gemini_keeps_signatures_in_any_spelling() -> None:
    signed = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    google = {**signed, "extra_content": {"google": {"thought_signature": "YWJj"}}}
    litellm = {**signed, "provider_specific_fields": {"thought_signature": "YWJj"}}
    for call in (google, litellm):
        _, contents = as_gemini([{"role": "assistant", "content": None, "tool_calls": [call]}])
        assert contents[0]["parts"][0]["thought_signature"] == b"abc"
    rest = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "YWJj"}]}
    assert as_gemini([rest])[1][0]["parts"][0]["thought_signature"] == b"abc"


def test_bedrock_roles_alternate() -> None:
    system, messages = as_bedrock(OPENAI)
    assert system == [{"text": "Be kind."}]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[0]["content"][1] == {"image": {"format": "png", "source": {"bytes": PNG}}}
    assert messages[1]["content"][1]["toolUse"] == {"toolUseId": "call_1", "name": "find", "input": {"what": "cat"}}
    assert [next(iter(block)) for block in messages[2]["content"]] == ["toolResult", "toolResult", "text"]


def test_ollama_and_cohere_and_mistral() -> None:
    ollama = as_ollama(OPENAI)
    assert ollama[1] == {"role": "user", "content": "Look.", "images": [PICTURE.base64]}
    assert ollama[2]["tool_calls"][0] == {"function": {"name": "find", "arguments": {"what": "cat"}}}
    assert ollama[3] == {"role": "tool", "content": "a cat", "tool_name": "find"}
    cohere = as_cohere([{"role": "assistant", "content": None, "tool_calls": OPENAI[2]["tool_calls"]}])  # type: ignore[index]
    assert "content" not in cohere[0]
    document = File(b"%PDF-1.4", name="a.pdf")
    (mistral,) = as_mistral([{"role": "user", "content": [document]}])
    assert mistral["content"] == [{"type": "document_url", "document_url": document.data_url}]


def test_responses() -> None:
    items = as_responses(OPENAI)
    assert items[1]["content"][1] == {"type": "input_image", "image_url": PICTURE.data_url, "detail": "auto"}
    assert items[2] == {"role": "assistant", "content": "One moment."}
    assert items[3]["type"] == "function_call"
    assert json.loads(items[3]["arguments"]) == {"what": "cat"}
    assert items[5] == {"type": "function_call_output", "call_id": "call_1", "output": "a cat"}


@pytest.mark.spec("A14")
@pytest.mark.parametrize("target", CONVERTERS)
def test_messages_in_the_targets_shape_are_unchanged(target: str) -> None:
    convert = CONVERTERS[target]
    once = convert(OPENAI)
    assert convert(once) == once


@pytest.mark.parametrize("source", [name for name in CONVERTERS if name not in {"ollama", "cohere", "langchain"}])
@pytest.mark.parametrize("target", CONVERTERS)
def test_from_each_form_to_each_other(source: str, target: str) -> None:
    there = CONVERTERS[target](CONVERTERS[source](OPENAI))
    back = as_openai(there) if target != "ollama" else there
    said = json.dumps(back, default=str)
    for text in ("Look.", "One moment.", "a cat", "three", "How many?", "find", "count"):
        assert text in said
    calls = [call for message in back for call in message.get("tool_calls") or ()]
    assert [call["function"]["name"] for call in calls] == ["find", "count"]
    assert len([message for message in back if message.get("role") == "tool"]) == 2


def test_system_messages_keep_their_authority_in_any_place() -> None:
    later = [{"role": "user", "content": "Hi"}, {"role": "system", "content": "Be brief."}]
    assert as_anthropic(later)[0] == [{"type": "text", "text": "Be brief."}]
    assert as_gemini(later)[0] == "Be brief."
    assert as_bedrock(later)[0] == [{"text": "Be brief."}]
    cached = [{"type": "text", "text": "Long.", "cache_control": {"type": "ephemeral"}}]
    assert as_anthropic([{"role": "system", "content": cached}])[0] == cached


def test_frameworks_messages_are_read_too() -> None:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    call = {"name": "find", "args": {"what": "cat"}, "id": "c1"}
    given = [HumanMessage("Look."), AIMessage("", tool_calls=[call]), ToolMessage("a cat", tool_call_id="c1")]
    _, messages = as_anthropic(given)
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[1]["content"][0]["input"] == {"what": "cat"}
    assert as_langchain(given) == given


URL = [{"role": "user", "content": [{"type": "text", "text": "Look."},
                                    {"type": "image_url", "image_url": {"url": "https://example.com/cat"}}]}]  # fmt: skip
SOUND = [{"role": "user", "content": [File(b"ID3\x04")]}]
PAPER = [{"role": "user", "content": ["Read.", File(b"%PDF-1.7", name="a.pdf")]}]
UPLOADED = [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}]
REFUSED = {
    "gemini-url": (as_gemini, URL, r"messages\[0\]\.content\[1\]: Gemini needs the media type of .*; give media_type"),
    "bedrock-url": (as_bedrock, URL, r"messages\[0\]\.content\[1\]: Bedrock does not fetch .*; give the bytes"),
    "ollama-url": (as_ollama, URL, r"Ollama does not fetch .*; give the bytes or a path"),
    "ollama-pdf": (as_ollama, PAPER, r"messages\[0\]\.content\[1\]: Ollama does not accept <File a\.pdf application/pdf"),
    "cohere-pdf": (as_cohere, PAPER, r"Cohere does not accept <File a\.pdf application/pdf"),
    "anthropic-sound": (as_anthropic, SOUND, r"Anthropic does not accept <File audio/mpeg 4 bytes>; give an image"),
    "anthropic-uploaded": (as_anthropic, UPLOADED, r"messages\[0\]\.content\[0\]: it refers to a file that was uploaded"),
    "gemini-result": (
        as_gemini, [{"role": "tool", "tool_call_id": "c9", "content": "4"}], r"the name of the function for this result",
    ),
    "unknown-part": (
        as_anthropic, [{"role": "user", "content": [{"type": "hologram"}, {"type": "image_url", "image_url": "x"}]}],
        r"messages\[0\]\.content\[0\]: a part of the type 'hologram' is not known",
    ),
    "no-role": (as_gemini, [{"text": "Hi"}], r"messages\[0\]: a dict without a known role; give role and content"),
    "broken-arguments": (
        as_anthropic,
        [{"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{"}}]}],
        r"messages\[0\]\.tool_calls\[0\]: the arguments of the call are not valid JSON",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_part_that_a_provider_cannot_take_raises_before_anything_is_sent(case: str) -> None:
    convert, messages, error = REFUSED[case]
    with pytest.raises(MessageError, match=error):
        convert(messages)


def test_invalid_messages_raise_before_anything_is_sent() -> None:
    with ScriptedServer([Say("never")]) as server:
        with pytest.raises(MessageError, match="Ollama does not accept"):
            run("ollama", server, Contract(), PAPER)
        assert server.requests == []


# -- objects from SDKs, sent back -------------------------------------------------------------------


def test_an_anthropic_response_is_sent_back_with_its_thinking() -> None:
    from anthropic.types import Message

    content: list[Any] = [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "find", "input": {"what": "cat"}},
    ]
    body = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": content,
            "stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    response = Message.model_validate(body)
    assert as_anthropic([response])[1] == [{"role": "assistant", "content": content}]
    (message,) = as_openai([response])
    assert (message["content"], message["tool_calls"][0]["id"]) == ("I look.", "t1")
    (message,) = as_langchain([response])
    assert message == {"role": "assistant", "content": content}


def test_messages_of_chat_sdks_keep_the_members_that_their_provider_requires() -> None:
    import cohere
    from openai.types.chat import ChatCompletionMessage

    calls = [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}]
    body = {"role": "assistant", "content": None, "tool_calls": calls, "reasoning_content": "Hm."}
    assert as_openai([ChatCompletionMessage.model_validate(body)]) == [body]
    plain = {"role": "assistant", "content": "Hi", "reasoning_content": "Hm."}  # refused without calls
    assert as_openai([ChatCompletionMessage.model_validate(plain)]) == [{"role": "assistant", "content": "Hi"}]
    planned = cohere.AssistantMessageResponse.model_validate(
        {"role": "assistant", "tool_plan": "I look.", "tool_calls": calls}
    )
    assert as_cohere([planned])[0]["tool_plan"] == "I look."
    assert "tool_plan" not in as_openai([planned])[0]


def test_items_of_the_responses_api_are_unchanged() -> None:
    from openai.types.responses import ResponseFunctionWebSearch, ResponseReasoningItem

    reasoning = ResponseReasoningItem(id="r", summary=[], type="reasoning", encrypted_content="x")
    action: Any = {"type": "search", "query": "cats"}
    search = ResponseFunctionWebSearch(id="w", action=action, status="completed", type="web_search_call")
    items = as_responses([reasoning, search])
    assert items[0] == {"id": "r", "summary": [], "type": "reasoning", "encrypted_content": "x"}
    assert items[1]["type"] == "web_search_call"
    for target in ("openai", "anthropic", "gemini"):  # other providers do not take calls that the provider ran itself
        assert len(CONVERTERS[target]([reasoning, search, {"role": "user", "content": "Go on."}])[-1]) == 2


@pytest.mark.parametrize("dumped", [False, True])
def test_contents_of_gemini_are_read_for_others(dumped: bool) -> None:
    from google.genai import types

    call = types.Part(function_call=types.FunctionCall(name="find", args={"what": "cat"}), thought_signature=b"sig")
    said = types.Content(role="model", parts=[types.Part(text="Hm.", thought=True), types.Part(text="I look."), call])
    (message,) = as_openai([said.model_dump() if dumped else said])
    assert (message["content"], message["tool_calls"][0]["function"]["name"]) == ("I look.", "find")
    parts = as_gemini([said.model_dump() if dumped else said])[1][0]["parts"]
    assert [part.get("thought_signature") for part in parts] == [None, None, b"sig"]


@pytest.mark.parametrize("target", ["anthropic", "responses", "cohere"])
def test_members_that_a_provider_refuses_are_left_out(target: str) -> None:
    given = [
        {"role": "user", "name": "ada", "content": "Hi"},
        {"role": "assistant", "content": "Hello", "refusal": None, "annotations": [], "reasoning_details": [{}]},
    ]
    assert CONVERTERS[target](given) == [{"role": m["role"], "content": m["content"]} for m in given]


UNNUMBERED = {
    "gemini": [
        {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {}}}, {"functionCall": {"name": "count", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "find", "response": {"output": "a cat"}}},
                                   {"functionResponse": {"name": "count", "response": {"output": "three"}}}]},
    ],
    "ollama": [
        {"role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": [
            {"function": {"name": "find", "arguments": {}}}, {"function": {"name": "count", "arguments": {}}}]},
        {"role": "tool", "tool_name": "count", "content": "three"},
        {"role": "tool", "tool_name": "find", "content": "a cat"},
    ],
}  # fmt: skip


@pytest.mark.spec("A14")
@pytest.mark.parametrize("source", UNNUMBERED)
@pytest.mark.parametrize("target", ["openai", "anthropic", "bedrock", "cohere", "mistral", "responses", "langchain"])
def test_calls_without_ids_get_them_and_keep_their_results(source: str, target: str) -> None:
    messages = as_openai(CONVERTERS[target](UNNUMBERED[source]))
    names = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    assert len(names) == 2
    assert all(names)
    outputs = {message["content"]: names[message["tool_call_id"]] for message in messages if message["role"] == "tool"}
    assert outputs == {"a cat": "find", "three": "count"}


def test_ids_that_a_provider_refuses_are_changed_on_both_sides() -> None:
    _, answering, first, second, _ = as_mistral(OPENAI)[1:]
    ids = [call["id"] for call in answering["tool_calls"]]
    assert [first["tool_call_id"], second["tool_call_id"]] == ids
    assert all(len(call_id) == 9 and call_id.isalnum() for call_id in ids)
    odd = json.loads(json.dumps(OPENAI).replace("call_1", "functions.find:0"))
    for convert, field in ((as_anthropic, "id"), (as_bedrock, "toolUseId")):
        block = convert(odd)[1][1]["content"][1]
        made = block.get("toolUse", block)[field]
        assert made.isalnum()
        assert json.dumps(convert(odd)[1], default=str).count(made) == 2


def test_thinking_of_cohere_and_of_mistral_is_not_mixed_up() -> None:
    text = {"type": "text", "text": "Hi"}
    cohere = {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, text]}
    mistral = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, text],
    }
    plain = {"role": "assistant", "content": "Hi"}
    assert (as_cohere([cohere, mistral]), as_mistral([cohere, mistral])) == ([cohere, plain], [plain, mistral])


def test_documents_of_cohere_and_images_of_ollama_are_read() -> None:
    document = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "document", "document": {"data": "a cat"}}]}
    assert as_cohere([document]) == [document]
    assert as_openai([document]) == [{"role": "tool", "tool_call_id": "c1", "content": "a cat"}]
    looking = {"role": "user", "content": "Look.", "images": [PICTURE.base64]}
    assert as_ollama([looking]) == [looking]
    assert as_openai([looking])[0]["content"][1] == {"type": "image_url", "image_url": {"url": PICTURE.data_url}}


@pytest.mark.parametrize("streamed", [False, True])
def test_the_next_rung_is_asked_if_one_cannot_take_the_messages(streamed: bool) -> None:
    with ScriptedServer([Say("Read.")]) as server:
        first, second = KINDS["ollama"].make(server), KINDS["openai"].make(server)
        with closing(first), closing(second):
            ladder = [(first, "a"), (second, "b")]
            if streamed:
                with Contract().ask_stream(ladder, PAPER) as parts:
                    list(parts)
                answer = parts.answer
            else:
                answer = Contract().ask(ladder, PAPER)
    assert (answer.text, answer.model) == ("Read.", "b")
    failure = answer.attempts[0].failure
    assert failure is not None
    assert "Ollama does not accept" in failure.reason
    assert len(server.requests) == 1
