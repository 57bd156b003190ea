"""How rows are shown: as a table of any width, as data, and as progress while they come."""
