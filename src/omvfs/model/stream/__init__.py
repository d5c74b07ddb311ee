"""What is held of a stream: a sample of its rows, the last ones, by how much columns are raised."""
