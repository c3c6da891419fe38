"""How often a change in how tables are dealt is found, and how often where there is none."""
