"""Alarms: what must not be between a site and its centre. The centre keeps them, a person looks."""

from dataclasses import dataclass

OTHER_BYTES = "other_bytes"
"""The same event has other bytes or another MAC at the two sides."""
SET_BACK = "set_back"
"""The centre has lost events for which it had signed: it was restored from a backup, or a standby
took over without the last seconds. The site sends them again."""
NOT_REFILLED = "not_refilled"
"""The centre lacks events that the site has pruned: they cannot be sent again."""
SITE_LACKS = "site_lacks"
"""The site lacks events that it has sent: its log was restored from a backup, or cut off."""
NOT_SENT = "not_sent"
"""A row of the site's log that is not a record, which the centre cannot store."""
BAD_RECEIPT = "bad_receipt"
"""A receipt that the notary did not sign, or that does not fit the site's log."""
OTHER_SEAM = "other_seam"
"""The two sides do not say the same of a board that has taken the place of another: the centre has
another seam of it, or later events of the board before it, or the site has no seam."""
HOLE = "hole"
"""The centre lacks events between others that it has, and no `gap` of the shoe says why."""
CHAIN = "chain"
"""An event does not continue the chain of those before it."""

LONGEST_DETAIL = 200
"""Characters; the centre stores no more."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm of `unit` at event `number`. The same one twice is one."""

    unit: str
    number: int
    kind: str
    detail: str
    """For people. Without anything that differs the next time, so that it stays one alarm."""
    record: bytes | None = None
    """The site's record, if the two sides have different ones."""
    mac: bytes | None = None
