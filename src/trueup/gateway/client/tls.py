"""TLS to upstreams: the options of an upstream enter, the context of its connections leaves, or an OSError that names the file.

Certificates are checked against the system's store and the file that `SSL_CERT_FILE` names, and further authorities of the options. Nothing
older than TLS 1.2 is spoken.
"""

import os
import ssl
from pathlib import Path

import msgspec


class Tls(msgspec.Struct, frozen=True):
    """How an upstream's certificate is checked, and which one the gateway shows."""

    ca: str = ""
    """A file of certificates of further authorities to trust (PEM); empty: only those of the system."""
    cert: str = ""
    """The gateway's own certificate, for an upstream that asks for one (PEM); empty: none."""
    key: str = ""
    """The file of the certificate's key; empty: it is in the file of the certificate."""
    verify: bool = True
    """Whether the upstream's certificate is checked; only for trying things out."""


def context_of(tls: Tls) -> ssl.SSLContext:
    """The context of connections with these options."""
    made = ssl.create_default_context()  # trusts the file that SSL_CERT_FILE names in place of the system's
    paths = ssl.get_default_verify_paths()
    if os.environ.get("SSL_CERT_FILE") and Path(paths.openssl_cafile).is_file():
        made.load_verify_locations(paths.openssl_cafile)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.set_alpn_protocols(["http/1.1"])
    if tls.ca:
        made.load_verify_locations(tls.ca)
    if tls.cert:
        made.load_cert_chain(tls.cert, tls.key or None)
    if not tls.verify:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    return made
