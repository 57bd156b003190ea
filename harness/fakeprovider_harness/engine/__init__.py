"""The steps of the loop, and what they share."""
