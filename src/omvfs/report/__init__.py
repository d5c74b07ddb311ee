"""A report on what was learned: plain values, and a page of one file that shows them."""

from omvfs.report.page import Report, check_can_be_made, report_on
from omvfs.report.summary import KINDS, versions

__all__ = ["KINDS", "Report", "check_can_be_made", "report_on", "versions"]
