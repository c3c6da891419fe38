"""The games of the rule documents, for the cashier: what is offered, paid and owed."""
