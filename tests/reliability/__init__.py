"""The matrix of faults: what is done to the library, how often, and what survived.

``python -m reliability`` with this folder's parent on the path; see `reliability.__main__`.
"""
