"""Other people's processes: one supervisor, the run that a command makes, and its gates."""
