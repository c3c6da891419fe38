"""What a run of the suites came to: results.json, a page for people, and two of them compared."""
