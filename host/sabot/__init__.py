"""The host's side of Sabot: log shoes, verify and show what they recorded, simulate one."""
