"""How often hands and wagers of blackjack win, and what the blackjack wager is worth."""
