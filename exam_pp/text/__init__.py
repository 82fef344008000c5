"""Work on texts: words, sentences, highlighted answers, the wording of messages, cells of spreadsheets."""
