"""How a reply ended: every provider's word for it, in the nine words of `Finish`.

A provider's word alone is not trusted: calls beside `stop` make it `tool`, a refusal beside `stop` makes it `refusal`.
Unknown words are `unknown`, never an error.
"""

from typing import Any

from trueup.read.objects import word
from trueup.verdict.reply import Finish

_WORDS: dict[Finish, str] = {
    "stop": "stop end_turn stop_sequence complete completed eos eos_token word finish finished end done normal endturn"
    " stopsequence",
    "length": "length max_tokens max_output_tokens limit model_context_window_exceeded model_length max_length"
    " context_length_exceeded error_limit maxtokens",
    "tool": "tool_calls tool_call tool_use tool-calls function_call tool tooluse",
    "filter": "content_filter content-filter content_filtered guardrail_intervened safety recitation language blocklist"
    " prohibited_content spii image_safety image_prohibited_content image_recitation model_armor jailbreak"
    " error_toxic sensitive moderation",
    "refusal": "refusal refused",
    "malformed_tool": "malformed_function_call malformed_tool_use malformed_model_output unexpected_tool_call"
    " too_many_tool_calls tool_use_failed",
    "pause": "pause_turn pause",
    "error": "error failed cancelled canceled timeout user_cancel network_error insufficient_system_resource other"
    " no_image image_other missing_thought_signature malformed_response max_messages steered",
}
_FINISH: dict[str, Finish] = {w: finish for finish, words in _WORDS.items() for w in words.split()}
_FINISH |= {w.upper(): finish for w, finish in _FINISH.items()}


def finish_of(ending: Any, *, calls: bool = False, refusal: bool = False) -> Finish:
    """The normal word for how a reply ended.

    >>> finish_of("MAX_TOKENS"), finish_of("stop", calls=True), finish_of(None)
    ('length', 'tool', 'unknown')
    """
    finish = _FINISH.get(ending) if type(ending) is str else None
    if finish is None:
        spelled = word(ending)
        finish = _FINISH.get(spelled.rpartition(".")[2].lower(), "unknown")
    if finish in {"stop", "unknown"}:
        if calls:
            return "tool"
        if refusal:
            return "refusal"
    return finish
