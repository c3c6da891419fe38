"""What happens around a shoe that runs: its supply, its USB, its display."""
