"""The verifier's checks of a log: its audit chain, clock and tables."""
