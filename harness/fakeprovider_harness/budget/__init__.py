"""What requests cost, and what a tree of runs may spend."""
