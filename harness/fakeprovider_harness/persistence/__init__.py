"""Where runs are kept: what the loop needs of a store, and the one in SQLite."""
