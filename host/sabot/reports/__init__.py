"""What people read from a log: pages of a shoe of cards, roads, units."""
