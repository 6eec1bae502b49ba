"""A diagram, a plant or a block as an FMU: its description, its data and equations as C, its binaries."""
