"""Texas hold'em at the cashier: a hand as it was played, and what each player receives."""
