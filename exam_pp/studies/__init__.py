"""A whole study: from the files of systems to the verdict, for the command ``run``, Python and AutoJudge."""
