"""The folder of `exam-pp evaluate report`: a page with the whole evaluation, and its tables as files."""
