"""What the benchmark scripts share: timing in turn, tables, C by hand, other libraries."""
