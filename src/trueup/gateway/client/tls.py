"""TLS to upstreams: builds the context of an upstream's connections from its options, or raises an OSError that names the
file.

Certificates are checked against the system's store, the file in `SSL_CERT_FILE`, and further authorities in the options. TLS
1.2 is the minimum.
"""

import os
import ssl
from pathlib import Path

import msgspec


class Tls(msgspec.Struct, frozen=True):
    """How to check an upstream's certificate, and which one the gateway presents."""

    ca: str = ""
    """A file (PEM) of further authorities to trust; empty: only the system's."""
    cert: str = ""
    """The gateway's own certificate, for an upstream that asks for one (PEM); empty: none."""
    key: str = ""
    """The file of the certificate's key; empty: it is in the certificate's file."""
    verify: bool = True
    """Whether the upstream's certificate is checked; turn it off only for experiments."""


def context_of(tls: Tls) -> ssl.SSLContext:
    """The context of connections with these options."""
    made = ssl.create_default_context()  # this alone would trust the file in SSL_CERT_FILE instead of the system's
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
