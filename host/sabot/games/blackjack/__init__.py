"""Blackjack at the cashier: hands, wagers, settlement and odds."""
