"""Batches of rows as named views: reading, validation, schema."""
