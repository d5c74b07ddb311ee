"""A report on what was learned: plain values, and a page of one file that shows them."""

from omvfs.report.report import Report

__all__ = ["Report"]
