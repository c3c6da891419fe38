"""What people read of a log: the page of a shoe of cards, roads, incidents, the table's time."""
