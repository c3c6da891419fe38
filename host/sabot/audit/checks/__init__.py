"""What the verifier checks: the chain of a log, and the play that its records say."""
