"""The events that an outbox holds, for tests of what recorded them."""


def records_in(outbox):
    """Every record held, the oldest first, as bytes."""
    assert outbox.seek(outbox.first_held)
    held = []
    record = outbox.take()
    while record is not None:
        held.append(bytes(record))
        record = outbox.take()
    return held
