"""Receipts: what the centre says of a unit's log, signed, and the files that carry them."""
