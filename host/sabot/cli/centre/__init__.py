"""The commands of a centre: what goes on from a log, to a centre and to other systems."""
