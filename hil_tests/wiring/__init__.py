"""The wiring of bench board and shoe, and its drawing."""
