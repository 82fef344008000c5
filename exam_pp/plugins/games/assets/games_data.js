// Data of the page of games: the head is decompressed at once, the games of a query when one of them is opened.

const review = { head: null, games: [], opened: new Map() };

async function unpackHead() {
  review.head = await unpack("head");
  review.games = review.head.queries.flatMap((query, q) => query.games.map((id, i) => ({ q, i, id, query_id: query.id })));
}

/** The game with this index: query text, both answers as lists of parts, and the texts of the passages. */
async function openGame(n) {
  const { q, i } = review.games[n];
  if (!review.opened.has(q)) review.opened.set(q, unpack(`query-${q}`));
  const { texts, games } = await review.opened.get(q);
  const { a, b, passages } = games[i];
  const parts = (answer) => answer.map(([text, cited]) => ({ text: texts[text], cited }));
  return { query: review.head.queries[q].text, a: parts(a), b: parts(b), passages: passages.map((text) => texts[text]) };
}

const WINNERS = [
  ["A", "A better", "a"],
  ["B", "B better", "b"],
  ["C", "Tie", "t"],
  [null, "Skip", "s"],
];

function winnerLabel(winner) {
  return WINNERS.find(([known]) => known === winner)[1];
}
