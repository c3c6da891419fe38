"""What proves a log: the chain and its keys, the check, checkpoints, bundles, tombstones."""
