"""How often a change in how tables are dealt is found, and how often one that did not happen."""
