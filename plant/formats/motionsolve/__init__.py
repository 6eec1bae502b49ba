"""MotionSolve-style XML: text, reader, writer and the catalogue of elements."""
