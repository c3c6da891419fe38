"""What surveillance and the floor must look at: the table of its kinds, and what finds each."""
