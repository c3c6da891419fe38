"""Games of other families than baccarat."""
