"""Writing down what another provider answers, as a script."""
