"""Every round of a log: an index of all, searches in it, and one round with its proof."""
