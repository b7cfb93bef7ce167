"""The list of fields: every field of every reply and event that an upstream may send, and what happens to it under a
contract.

Data only; `field_filter.py` applies it. A field is judged, kept, the request's own, or dropped. Fields that are not on the list are
dropped. A kept field is a number, a flag, one of a few words, or an identifier: nothing that a model could write text in.
"""

from enum import Enum
from typing import Any


class Fate(Enum):
    """The treatment of a field."""

    JUDGED = "judged"
    """Sent as in the verdict: text and calls."""
    NUMBER = "kept: a number"
    """Kept if it is a number."""
    FLAG = "kept: true or false"
    """Kept if it is true or false."""
    NAME = "kept: an identifier"
    """Kept if it is an identifier: letters, digits and `-_.:/@+=`, at most 200 characters."""
    OWN = "the request's own"
    """Replaced by the value in the client's own request."""
    DROPPED = "dropped"
    """Never sent, unless it is null or empty."""


JUDGED, NUMBER, FLAG, NAME, OWN, DROPPED = Fate


class AllowedWords(frozenset[str]):
    """Kept if it is one of these words."""


class Blocks(dict[str, Any]):
    """A list of objects, each with the fields of its `type`; an object of any other type is dropped."""


class JudgedTexts:
    """A judged text, or a list of parts with such texts."""

    def __init__(self, parts: Blocks | None = None) -> None:
        self.parts = Blocks() if parts is None else parts


# A rule is a Fate, Words, Texts, Blocks, a dict of fields, or a list with the rule of its first item: all other items are
# dropped.
Rule = Any

_TIERS = AllowedWords(
    ("auto", "default", "flex", "scale", "priority", "standard", "batch", "on_demand", "performance", "standard_only")
)
_ASSISTANT = AllowedWords(("assistant",))
_STATUS = AllowedWords(("completed", "in_progress", "incomplete", "failed", "cancelled", "queued", "searching"))

# -- counts ------------------------------------------------------------------------------------

_SECONDS = dict.fromkeys(("queue_time", "prompt_time", "completion_time", "total_time"), NUMBER)
_DETAILS = dict.fromkeys(("cached_tokens", "cache_write_tokens", "audio_tokens", "text_tokens", "image_tokens", "video_tokens", "multimodal_tokens", "reasoning_tokens", "thinking_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens"), NUMBER)  # fmt: skip
_COSTS = dict.fromkeys(("upstream_inference_cost", "upstream_inference_prompt_cost", "upstream_inference_completions_cost", "upstream_inference_input_cost", "upstream_inference_output_cost"), NUMBER)  # fmt: skip
_SERVER_TOOLS = dict.fromkeys(
    ("web_search_requests", "web_fetch_requests", "tool_calls_executed", "tool_calls_requested"), NUMBER
)
_CACHED = {"ephemeral_1h_input_tokens": NUMBER, "ephemeral_5m_input_tokens": NUMBER}

USAGE: dict[str, Rule] = {
    "prompt_tokens": NUMBER, "completion_tokens": NUMBER, "total_tokens": NUMBER, "input_tokens": NUMBER,
    "output_tokens": NUMBER, "prompt_tokens_details": _DETAILS, "completion_tokens_details": _DETAILS,
    "input_tokens_details": _DETAILS, "output_tokens_details": _DETAILS, "cached_tokens": NUMBER, "num_cached_tokens": NUMBER,
    "prompt_cache_hit_tokens": NUMBER, "prompt_cache_miss_tokens": NUMBER, "cache_creation_input_tokens": NUMBER,
    "cache_read_input_tokens": NUMBER, "cache_creation": _CACHED, "server_tool_use": _SERVER_TOOLS,
    "server_tool_use_details": _SERVER_TOOLS, "cost": NUMBER, "cost_details": _COSTS, "is_byok": FLAG, "service_tier": _TIERS,
    "inference_geo": NAME, "iterations": DROPPED, **_SECONDS,
}  # fmt: skip

# -- chat completions --------------------------------------------------------------------------

_PARTS = Blocks({"text": {"type": JUDGED, "text": JUDGED, "annotations": DROPPED}})
_CHAT_CALL = {
    "index": NUMBER, "id": JUDGED, "type": JUDGED, "function": {"name": JUDGED, "arguments": JUDGED, "index": NUMBER},
    "custom": {"name": JUDGED, "input": JUDGED},
}  # fmt: skip
_CHAT_MESSAGE: dict[str, Rule] = {
    "role": _ASSISTANT, "content": JudgedTexts(_PARTS), "tool_calls": Blocks({"function": _CHAT_CALL, "custom": _CHAT_CALL, "": _CHAT_CALL}),
    "function_call": {"name": JUDGED, "arguments": JUDGED}, "refusal": DROPPED, "reasoning_content": DROPPED, "reasoning": DROPPED,
    "thinking": DROPPED, "reasoning_details": DROPPED, "thinking_blocks": DROPPED, "audio": DROPPED, "annotations": DROPPED,
    "citations": DROPPED, "images": DROPPED, "channel": DROPPED, "name": DROPPED, "tool_call_id": DROPPED, "context": DROPPED,
    "provider_specific_fields": DROPPED, "executed_tools": DROPPED, "parsed": DROPPED,
}  # fmt: skip
CHAT_FINISH = AllowedWords(("stop", "length", "tool_calls", "content_filter", "function_call"))
_CHOICE: dict[str, Rule] = {
    "index": NUMBER, "finish_reason": CHAT_FINISH, "logprobs": DROPPED, "stop_reason": NUMBER, "seed": NUMBER, "text": JUDGED,
    "native_finish_reason": DROPPED, "content_filter_results": DROPPED, "token_ids": DROPPED, "routed_experts": DROPPED,
    "error": DROPPED, "usage": DROPPED, "matched_stop": DROPPED,
}  # fmt: skip
_CHAT: dict[str, Rule] = {
    "id": NAME, "object": AllowedWords(("chat.completion", "chat.completion.chunk")), "created": NUMBER, "model": NAME, "system_fingerprint": NAME, "service_tier": _TIERS, "usage": USAGE,
    "provider": DROPPED, "request_id": NAME, "metadata": DROPPED, "metrics": DROPPED, "prompt": DROPPED, "prompt_text": DROPPED,
    "prompt_logprobs": DROPPED, "prompt_token_ids": DROPPED, "prompt_filter_results": DROPPED, "kv_transfer_params": DROPPED,
    "time_info": {**_SECONDS, "created": NUMBER}, "timings": DROPPED, "usage_breakdown": DROPPED, "citations": DROPPED,
    "search_results": DROPPED, "error": DROPPED, "x_groq": DROPPED, "__verbose": DROPPED, "obfuscation": DROPPED,
    "sla_metrics": DROPPED, "moderation": DROPPED, "trueup": DROPPED,
}  # fmt: skip
CHAT: dict[str, Rule] = {**_CHAT, "choices": [{**_CHOICE, "message": _CHAT_MESSAGE}]}
CHUNK: dict[str, Rule] = {**_CHAT, "choices": [{**_CHOICE, "delta": _CHAT_MESSAGE, "message": DROPPED}]}

# -- messages ----------------------------------------------------------------------------------

_CONTENT = Blocks(
    {
        "text": {"type": JUDGED, "text": JudgedTexts(), "citations": DROPPED},
        "tool_use": {"type": JUDGED, "id": JUDGED, "name": JUDGED, "input": JUDGED, "caller": {"type": DROPPED}},
    }
)
MESSAGE_STOP = AllowedWords(
    ("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded")
)
MESSAGE: dict[str, Rule] = {
    "id": NAME, "type": AllowedWords(("message",)), "role": _ASSISTANT, "model": NAME, "content": _CONTENT, "stop_reason": MESSAGE_STOP, "stop_sequence": OWN,
    "stop_details": DROPPED, "usage": USAGE, "container": DROPPED, "context_management": DROPPED, "trueup": DROPPED,
}  # fmt: skip
_BLOCK: dict[str, Rule] = {"type": JUDGED, "index": NUMBER}
MESSAGE_EVENTS: dict[str, Rule] = {
    "message_start": {"type": JUDGED, "message": MESSAGE},
    "content_block_start": {**_BLOCK, "content_block": _CONTENT},
    "content_block_delta": {
        **_BLOCK,
        "delta": Blocks(
            {
                "text_delta": {"type": JUDGED, "text": JUDGED},
                "input_json_delta": {"type": JUDGED, "partial_json": JUDGED},
                "thinking_delta": {"type": JUDGED, "thinking": DROPPED},
                "signature_delta": {"type": JUDGED, "signature": DROPPED},
                "citations_delta": {"type": JUDGED, "citation": DROPPED},
                "compaction_delta": {"type": JUDGED, "content": JUDGED},
            }
        ),
    },
    "content_block_stop": _BLOCK,
    "message_delta": {
        "type": JUDGED, "usage": USAGE, "context_management": DROPPED,
        "delta": {"stop_reason": MESSAGE_STOP, "stop_sequence": OWN, "stop_details": DROPPED, "container": DROPPED},
    },
    "message_stop": {"type": JUDGED},
    "ping": {"type": JUDGED},
    "error": {"type": JUDGED, "error": DROPPED, "request_id": NAME},
}  # fmt: skip

# -- responses ---------------------------------------------------------------------------------

_OUTPUT_PARTS = Blocks(
    {
        "output_text": {"type": JUDGED, "text": JUDGED, "annotations": DROPPED, "logprobs": DROPPED},
        "refusal": {"type": JUDGED, "refusal": DROPPED},
    }
)
_ITEM: dict[str, Rule] = {"type": JUDGED, "id": NAME, "status": _STATUS}
OUTPUT = Blocks(
    {
        "message": {
            **_ITEM,
            "role": _ASSISTANT,
            "phase": AllowedWords(("final_answer", "commentary")),
            "content": _OUTPUT_PARTS,
        },
        "function_call": {**_ITEM, "call_id": JUDGED, "name": JUDGED, "arguments": JUDGED, "namespace": DROPPED},
        "custom_tool_call": {**_ITEM, "call_id": JUDGED, "name": JUDGED, "input": JUDGED},
        "reasoning": {**_ITEM, "summary": DROPPED, "content": DROPPED, "encrypted_content": DROPPED},
    }
)
RESPONSE: dict[str, Rule] = {
    "id": NAME, "object": AllowedWords(("response",)), "created_at": NUMBER, "completed_at": NUMBER, "status": _STATUS, "model": NAME, "output": OUTPUT,
    "output_text": JUDGED, "usage": USAGE, "service_tier": _TIERS, "background": FLAG, "store": FLAG, "parallel_tool_calls": FLAG,
    "temperature": NUMBER, "top_p": NUMBER, "top_logprobs": NUMBER, "frequency_penalty": NUMBER, "presence_penalty": NUMBER,
    "max_output_tokens": NUMBER, "max_tool_calls": NUMBER, "truncation": AllowedWords(("auto", "disabled")),
    "incomplete_details": {"reason": AllowedWords(("max_output_tokens", "content_filter", "max_messages", "steered"))},
    "previous_response_id": NAME, "prompt_cache_retention": AllowedWords(("24h", "in_memory", "in-memory")),
    "instructions": OWN, "metadata": OWN, "text": OWN, "tools": OWN, "tool_choice": OWN, "user": OWN, "reasoning": OWN,
    "safety_identifier": OWN, "prompt_cache_key": OWN, "prompt": OWN, "conversation": {"id": NAME}, "include": OWN,
    "error": DROPPED, "billing": DROPPED, "content_filters": DROPPED, "moderation": DROPPED, "tool_usage": DROPPED, "input": DROPPED,
    "trueup": DROPPED,
}  # fmt: skip
_EVENT: dict[str, Rule] = {
    "type": JUDGED, "sequence_number": NUMBER, "output_index": NUMBER, "content_index": NUMBER, "item_id": NAME, "obfuscation": DROPPED,
}  # fmt: skip
_TURN: dict[str, Rule] = {**_EVENT, "response": RESPONSE}
_TEXT: dict[str, Rule] = {**_EVENT, "delta": JUDGED, "text": JUDGED, "logprobs": DROPPED}
_THOUGHT: dict[str, Rule] = {
    **_EVENT, "delta": DROPPED, "text": DROPPED, "part": DROPPED, "summary_index": NUMBER, "status": DROPPED,
}  # fmt: skip
_CALLED: dict[str, Rule] = {**_EVENT, "delta": JUDGED, "arguments": JUDGED, "input": JUDGED, "name": JUDGED}
_ADDED: dict[str, Rule] = {**_EVENT, "item": OUTPUT}
_PART: dict[str, Rule] = {**_EVENT, "part": _OUTPUT_PARTS}
RESPONSE_EVENTS: dict[str, Rule] = {
    "response.created": _TURN, "response.queued": _TURN, "response.in_progress": _TURN, "response.completed": _TURN,
    "response.incomplete": _TURN, "response.failed": _TURN, "response.done": _TURN,
    "response.output_item.added": _ADDED, "response.output_item.done": _ADDED,
    "response.content_part.added": _PART, "response.content_part.done": _PART,
    "response.output_text.delta": _TEXT, "response.output_text.done": _TEXT,
    "response.output_text.annotation.added": {**_EVENT, "annotation": DROPPED, "annotation_index": NUMBER},
    "response.refusal.delta": {**_EVENT, "delta": DROPPED}, "response.refusal.done": {**_EVENT, "refusal": DROPPED},
    "response.function_call_arguments.delta": _CALLED, "response.function_call_arguments.done": _CALLED,
    "response.custom_tool_call_input.delta": _CALLED, "response.custom_tool_call_input.done": _CALLED,
    "response.reasoning_text.delta": _THOUGHT, "response.reasoning_text.done": _THOUGHT,
    "response.reasoning_summary_text.delta": _THOUGHT, "response.reasoning_summary_text.done": _THOUGHT,
    "response.reasoning_summary_part.added": _THOUGHT, "response.reasoning_summary_part.done": _THOUGHT,
    "error": {**_EVENT, "code": DROPPED, "message": DROPPED, "param": DROPPED, "error": DROPPED},
    "keepalive": _EVENT,
}  # fmt: skip
