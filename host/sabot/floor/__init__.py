"""The tables of a floor as those who watch them may see them."""
