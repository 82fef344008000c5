"""The review page: one HTML file in which a person reads, corrects and comments on grades.

``table`` turns passages and grades into columns, ``page`` packs them beside the page's own script. The
script, in plain JavaScript, is in the folder ``assets``: one file for each thing that the page shows.
"""

from exam_pp.reports.review.page import render_page
from exam_pp.reports.review.table import QueryTable

__all__ = ["QueryTable", "render_page"]
