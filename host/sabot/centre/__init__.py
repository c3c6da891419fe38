"""What goes on between the log of a site and the centre: forwarding, receipts, alarms."""
