"""The verifier's checks of the audit chain, and of the play that the records describe."""
