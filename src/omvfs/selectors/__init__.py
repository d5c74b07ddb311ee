"""What every selector shares: reading, ranking, support, names, transform."""
