// The leaderboard with the reviewer's ratings: Rubric-Cover as `exam-pp evaluate cover` computes it after `exam-pp apply`.

/** The rows [system, mean, error, mean before] of a leaderboard, with the ratings of this visit; the page recomputes rated queries only. */
async function standingsOf(leaderboard) {
  const edited = [...new Set([...work.ratings.values()].map((rating) => rating.query_id))];
  const queries = [...leaderboard.queries];
  const scores = new Map(Object.entries(leaderboard.scores).map(([system, values]) => [system, [...values]]));
  for (const id of edited) {
    const index = review.head.queries.findIndex((query) => query.id === id);
    const query = index < 0 ? null : await openQuery(index);
    if (!query?.cover) continue; // the page does not show all passages, so it cannot score
    const place = queries.includes(id) ? queries.indexOf(id) : queries.push(id) - 1;
    for (const [system, score] of coverOf(query, leaderboard)) scores.get(system)[place] = score;
  }
  const before = new Map(leaderboard.rows.map(([system, mean]) => [system, mean]));
  return [...scores].map(([system, values]) => [system, mean(values), standardError(values), before.get(system)]);
}

/** The share of a query's entries that each system covers, and that all passages cover. */
function coverOf(query, { grader, scores }) {
  const { tops, entries } = query.cover;
  const judge = review.head.graders.indexOf(grader);
  const passages = [...Array(query.size).keys()];
  const reached = passages.map(() => new Set());
  const rated = new Set();
  for (const p of passages) {
    for (const e of query.entries.keys()) {
      const rating = reviewedRating(query, p, e, judge);
      if (rating === null) continue;
      rated.add(e);
      if (rating >= review.head.min_grade) reached[p].add(e);
    }
  }
  const counted = entries ?? [...rated];
  const size = (covered) => total(counted.filter((e) => covered(e)).map((e) => query.entries[e].weight ?? 1));
  const whole = size(() => true);
  const share = (top) => (whole ? size((e) => top.some((p) => reached[p].has(e))) / whole : 0);
  return Object.keys(scores).map((system) => [system, share(system === "_overall_" ? passages : (tops[system] ?? []))]);
}

/** The rating that counts: that of people where there is one (of several the lower median), else the judge's. */
function reviewedRating(query, p, e, judge) {
  const self = `human:${work.document.reviewer}`;
  const votes = review.head.graders
    .map((name, g) => (name.startsWith("human:") && name !== self ? query.rating(p, e, g) : null))
    .filter((rating) => rating !== null);
  const own = ownRating(query, p, e)?.rating ?? query.rating(p, e, review.head.graders.indexOf(self));
  if (own !== null && own !== undefined) votes.push(own);
  votes.sort((a, b) => a - b);
  return votes.length ? votes[Math.floor((votes.length - 1) / 2)] : query.rating(p, e, judge);
}

function mean(values) {
  return total(values) / values.length;
}

function standardError(values) {
  if (values.length < 2) return null;
  const center = mean(values);
  return Math.sqrt(total(values.map((value) => (value - center) ** 2)) / (values.length - 1) / values.length);
}
