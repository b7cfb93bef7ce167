"""AWS signatures, version 4: the headers that sign a request with some credentials. Sends and stores nothing."""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote

import msgspec

from trueup.gateway.config import AwsKeys

_ALGORITHM = "AWS4-HMAC-SHA256"
_PLAIN = "/-_.~"


class SignedAddress(msgspec.Struct, frozen=True):
    """Where a request goes: the host as in its header, and the path as it is sent, without a query."""

    host: str
    path: str
    region: str
    service: str = "bedrock"
    method: str = "POST"


def signed(
    place: SignedAddress, body: bytes, headers: Mapping[str, str], keys: AwsKeys, at: datetime
) -> dict[str, str]:
    """The headers that sign a request of the time `at`; `headers` are signed with it, along with the host and the date."""
    stamp = at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    found = {"host": place.host, "x-amz-date": stamp, **{name.lower(): value for name, value in headers.items()}}
    if keys.session_token:
        found["x-amz-security-token"] = keys.session_token
    names = sorted(found)
    listed = ";".join(names)
    lines = "".join(f"{name}:{' '.join(found[name].split())}\n" for name in names)
    digest = hashlib.sha256(body).hexdigest()
    # The path is encoded once more than it is sent: every service but S3 requires that.
    asked = f"{place.method}\n{quote(place.path, safe=_PLAIN)}\n\n{lines}\n{listed}\n{digest}"
    scope = f"{stamp[:8]}/{place.region}/{place.service}/aws4_request"
    text = f"{_ALGORITHM}\n{stamp}\n{scope}\n{hashlib.sha256(asked.encode()).hexdigest()}"
    signature = hmac.new(_key(keys.secret_key, scope), text.encode(), hashlib.sha256).hexdigest()
    said = f"{_ALGORITHM} Credential={keys.access_key}/{scope}, SignedHeaders={listed}, Signature={signature}"
    del found["host"]
    return {**found, "authorization": said}


def _key(secret: str, scope: str) -> bytes:
    key = b"AWS4" + secret.encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key
