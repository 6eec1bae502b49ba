"""What a run owns: its context, snapshots of it, histories of delays, wall time."""
