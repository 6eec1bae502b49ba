"""State charts: states, transitions, and their rounds as equations."""
