"""What messages and events are: one definition of each, with a line of text for each field.

Everything else that says so is generated from here by `make generated`: the shapes that a shoe and
a host share, the CDDL schema, the tables of protocol/README.md and docs/json.md, and the host's
classes. A board has none of this package.
"""
