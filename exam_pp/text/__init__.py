"""Work on texts: words, sentences, sentences for messages, highlighted parts, cells of spreadsheets."""
