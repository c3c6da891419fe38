"""Planted cheats and honest shoes of cards: what `sabot.integrity` finds of them."""
