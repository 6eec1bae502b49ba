"""Many runs of one diagram."""
