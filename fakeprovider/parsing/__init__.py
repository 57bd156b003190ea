"""From the bytes of a request to a conversation: reading, folding, counting, remembering."""
