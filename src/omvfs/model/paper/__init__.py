"""The solver that the paper prints."""
