"""Pictures of diagrams: where blocks and wires go, and how they look."""
