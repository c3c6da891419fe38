"""The screens of `sabot serve`: who may see what is decided here, never by a page."""
