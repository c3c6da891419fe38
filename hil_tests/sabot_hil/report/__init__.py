"""The report of a run of the suites: results.json, a page for people, and the comparison of two."""
