"""The reference engine: the rules of time in readable Python."""
