"""Batches as named views: the one door for data."""
