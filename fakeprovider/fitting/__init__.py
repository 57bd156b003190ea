"""Fitting what a script says to a client: its tools, its choice, its form of an answer."""
