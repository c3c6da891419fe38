"""How a table is dealt, and who was on duty: its pace, and what a house says of its shifts."""
