"""Find the protocol of a request from its path and headers, and whether it asks a model."""

from trueup.testing.protocols.azure import Azure
from trueup.testing.protocols.bedrock import Bedrock
from trueup.testing.protocols.chat import Chat
from trueup.testing.protocols.cohere import Cohere
from trueup.testing.protocols.gemini import Gemini
from trueup.testing.protocols.messages import Messages
from trueup.testing.protocols.mistral import Mistral
from trueup.testing.protocols.ollama import Ollama
from trueup.testing.protocols.responses import Responses
from trueup.testing.protocols.shapes import Speaks
from trueup.testing.wire import Request

_PATHS: dict[str, Speaks] = {
    "/chat/completions": Chat(),
    "/responses": Responses(),
    "/messages": Messages(),
    "/v2/chat": Cohere(),
    "/api/chat": Ollama(),
}
_VERSIONS = ("/openai", "/v1beta", "/v1alpha", "/v1")


def short(path: str) -> str:
    """A path without the API's version and a trailing slash.

    >>> short("/v1/models/"), short("/openai/v1/responses")
    ('/models', '/responses')
    """
    for version in _VERSIONS:
        path = path.removeprefix(version)
    return path.rstrip("/")


def spoken(request: Request) -> tuple[Speaks, bool]:
    """The protocol of a request, and whether it asks a model.

    >>> type(spoken(Request("POST", "/model/m/converse"))[0]).__name__, spoken(Request("GET", "/v1/models"))[1]
    ('Bedrock', False)
    """
    path = short(request.path)
    last = path.rpartition("/")[2]
    if path in _PATHS:
        is_mistral = path == "/chat/completions" and "mistral" in request.headers.get("user-agent", "")
        return (Mistral() if is_mistral else _PATHS[path]), True
    if path.startswith("/model/") and last in {"converse", "converse-stream"}:
        return Bedrock(), True
    if path.startswith("/deployments/") and path.endswith("/chat/completions"):
        return Azure(), True
    if ":" in last:
        return Gemini(), True
    return (Messages() if "anthropic-version" in request.headers else Chat()), False
