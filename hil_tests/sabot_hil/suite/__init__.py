"""The suites that a shoe is judged by. An acceptance run has `smoke` and `acceptance`."""
