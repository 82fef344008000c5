"""The review page, in which a person corrects grades, and the verification reports."""
