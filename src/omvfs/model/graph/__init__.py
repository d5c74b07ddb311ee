"""Who is near whom, and what neighbours say."""
