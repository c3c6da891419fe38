"""The games of the rule documents at the cashier's side: what is offered, paid and owed."""
