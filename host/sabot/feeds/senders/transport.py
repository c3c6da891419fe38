"""What the senders share: TLS, and why a receiver cannot be reached, for people."""

import os
import ssl
from pathlib import Path

from sabot.errors import FeedsUnusable
from sabot.files import check_no_pipe


def tls_of(ca: Path | None) -> ssl.SSLContext:
    """TLS that checks the receiver's name and certificate. Raises FeedsUnusable."""
    try:
        if ca is not None:
            check_no_pipe(ca)
        return ssl.create_default_context(cafile=None if ca is None else str(ca))
    except (OSError, ssl.SSLError) as error:
        why = getattr(error, "reason", None) or error.strerror or "not a certificate"
        raise FeedsUnusable(f"{ca}: cannot be used ({why}); name certificates as PEM") from None


def why_not_reached(error: BaseException) -> str:
    """Why a receiver cannot be reached, without what a server may have put into a text."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not good: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"no TLS with it ({error.reason or 'closed'})"
    if isinstance(error, OSError) and error.errno:  # asyncio has a text of its own
        return f"cannot be reached ({os.strerror(error.errno)})"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return f"cannot be reached ({error or type(error).__name__})"
