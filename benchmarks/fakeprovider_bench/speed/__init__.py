"""Speed: the provider beside a static route, the harness beside a raw loop, memory over time."""
