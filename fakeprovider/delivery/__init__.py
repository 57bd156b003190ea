"""How a reply goes out: its steps, when each is due, and the connection under it."""
