"""What the notary of a centre checks before it signs, and what it looks for that is gone."""
