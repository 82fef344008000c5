"""Reports for people who check how the model graded (workbench paper, section 4.4).

Every report is a :class:`~exam_pp.phases.review.verification.base.VerificationReport`: it is shown the queries
of a file one after the other, keeps only what it will say, and says it for people or as one table for scripts.
"""
