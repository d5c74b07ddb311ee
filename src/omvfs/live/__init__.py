"""A run as it goes: the small file in which it tells where it stands, and the page that shows it.

The run writes `status.StatusFile` and knows of no page; the server (`server`) only reads that file.
"""
