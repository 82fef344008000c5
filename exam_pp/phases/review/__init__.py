"""The review page, the page of games, and passages with the grades that reviewers check."""
