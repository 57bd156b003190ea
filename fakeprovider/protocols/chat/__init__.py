"""Chat completions of OpenAI."""
