"""Names of units in ids, subjects and topics: a unit's name may be any text that a log has."""

import hashlib
from urllib.parse import quote

_MOST = 120  # characters: a name of 32 is the longest that a unit is provisioned with
_KEPT = 60


def token(name: str) -> str:
    """The name as one part of an id, a NATS subject or an MQTT topic.

    Letters, digits, `-` and `_` stay, so that the name of an ordinary unit does; all else is
    percent-encoded, also the dots that part a subject and a signed text. No two names have the
    same token; one that is too long ends with its SHA-256.
    """
    encoded = quote(name, safe="", errors="surrogatepass").replace(".", "%2E").replace("~", "%7E")
    if not encoded:
        return "%"
    if len(encoded) <= _MOST:
        return encoded
    return f"{encoded[:_KEPT]}~{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()}"
