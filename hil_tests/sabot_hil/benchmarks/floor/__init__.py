"""How a floor follows its log, and how its screens show it."""
