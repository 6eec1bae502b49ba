"""What a block is: how it declares equations, how they become symbols, and the checks on the way."""
