"""What the play of a unit adds up to, and what is only noted of it."""
