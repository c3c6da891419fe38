"""What people read from a log: pages of a shoe of cards, roads, incidents, units, table time."""
