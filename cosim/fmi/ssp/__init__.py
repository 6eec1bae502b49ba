"""System structures (SSP 1.0 and 2.0): diagrams of FMUs in and out."""
