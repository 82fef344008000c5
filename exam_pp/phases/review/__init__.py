"""Verification reports, the review page, and the ratings of reviewers."""
