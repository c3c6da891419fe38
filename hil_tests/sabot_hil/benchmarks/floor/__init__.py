"""How a floor follows its log, how its screens show it, and how its rounds are searched."""
