"""The order in which cards come: whether it is that of new packs, or of cards dealt before."""
