"""Tools beneath their declaration: arguments, execution, processes, results, sub-agents."""
