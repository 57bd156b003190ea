"""Where runs are kept: the store in SQLite; what the loop needs of one stands in `state`."""
