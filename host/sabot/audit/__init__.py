"""The proof of a log: audit chain, verifier, checkpoints, bundles, tombstones."""
