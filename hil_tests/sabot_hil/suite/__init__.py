"""What a shoe is judged by. `acceptance` has all of `smoke`, and more."""
