"""Engines that run a flat `System`: they consume the same schedule, tableaus and rules of time."""
