// The leaderboard and the counts with the reviewer's ratings, as `exam-pp evaluate cover` and `nuggets` compute them after `exam-pp apply`.

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
  return [...scores].map(([system, values]) => {
    const score = mean(values), earlier = before.get(system);
    // Sums in another order differ by rounding errors.
    return [system, score, standardError(values), Math.abs(earlier - score) < 1e-9 ? score : earlier];
  });
}

/** The importance that the first measure of nuggets counts; it is W_strict only without vital nuggets. */
const IMPORTANCE = { V_strict: "vital", W_strict: "okay" };

/** Whether a measure has the weights of the bank, which are below 0 for what an answer should avoid. */
function hasWeights(metric) {
  return metric.startsWith("Cover") || metric === "Rubric_strict";
}

/** Whether a measure counts an entry. */
function counts({ importance, weight = 1 }, metric) {
  if (hasWeights(metric)) return weight !== 0;
  return !Object.hasOwn(IMPORTANCE, metric) || importance === IMPORTANCE[metric];
}

/** The share of a query's entries that each system covers, and that all passages cover. */
function coverOf(query, { grader, metric, scores }) {
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
  const counted = (entries ?? [...rated]).filter((e) => counts(query.entries[e], metric));
  // Measures of nuggets have no weights.
  const weight = (e) => (hasWeights(metric) ? query.entries[e].weight ?? 1 : 1);
  const size = (covered) => total(counted.filter((e) => covered(e)).map(weight));
  const whole = size((e) => weight(e) > 0);
  const share = (top) => (whole ? size((e) => top.some((p) => reached[p].has(e))) / whole : 0);
  return Object.keys(scores).map((system) => [system, share(system === "_overall_" ? passages : (tops[system] ?? []))]);
}

/** The rating that counts: that of people where there is one, else the judge's. */
function reviewedRating(query, p, e, judge) {
  return peopleRating(query, p, e) ?? query.rating(p, e, judge);
}

/** The rating of the shown grader; of a model, that of people where there is one. */
function countedRating(query, p, e) {
  if (review.head.graders[app.grader].startsWith("human:")) return query.rating(p, e, app.grader);
  return reviewedRating(query, p, e, app.grader);
}

const reviewedCounts = new Map(); // id of a query -> its counts with the ratings of people

/** Counts the grades of queries that people have rated; other queries have the counts of the head. */
async function countReviewed() {
  const { head } = review;
  reviewedCounts.clear();
  if (head.blind || !head.graders.length) return;
  const rated = new Set([...work.ratings.values()].map((rating) => rating.query_id));
  const byOthers = head.graders.some((name) => name.startsWith("human:"));
  for (const [index, { id }] of head.queries.entries()) {
    if (byOthers || rated.has(id)) reviewedCounts.set(id, countsOf(await openQuery(index)));
  }
}

/** The counts of a query of the head for the shown grader; undefined without graders. */
function shownCounts(query) {
  return reviewedCounts.get(query.id) ?? query.graders[app.grader];
}

/** The counts that the head has, with the ratings of people. */
function countsOf(query) {
  const highest = review.head.scale.at(-1)[0];
  const ratings = Array(highest + 1).fill(0);
  const covered = new Set(), judged = new Map();
  let ungraded = 0;
  for (const p of query.ids.keys()) {
    let best = -1;
    for (const e of query.asked(p)) {
      const rating = countedRating(query, p, e);
      if (rating === null) {
        ungraded += query.string("reason", p, e, app.grader) !== null;
        continue;
      }
      const level = Math.min(Math.max(rating, 0), highest);
      ratings[level]++;
      best = Math.max(best, level);
      if (rating >= review.head.min_grade) covered.add(e);
    }
    const judgment = query.judgment(p);
    if (best < 0 || judgment === null) continue;
    if (!judged.has(judgment)) judged.set(judgment, Array(highest + 1).fill(0));
    judged.get(judgment)[best]++;
  }
  return { ratings, ungraded, covered: covered.size, judged: [...judged] };
}

/** The rating by people, of several the lower median; null without one. */
function peopleRating(query, p, e) {
  const self = `human:${work.document.reviewer}`;
  const votes = review.head.graders
    .map((name, g) => (name.startsWith("human:") && name !== self ? query.rating(p, e, g) : null))
    .filter((rating) => rating !== null);
  const own = ownRating(query, p, e)?.rating ?? query.rating(p, e, review.head.graders.indexOf(self));
  if (own !== null && own !== undefined) votes.push(own);
  votes.sort((a, b) => a - b);
  return votes[Math.floor((votes.length - 1) / 2)] ?? null;
}

function mean(values) {
  return total(values) / values.length;
}

function standardError(values) {
  if (values.length < 2) return null;
  const center = mean(values);
  return Math.sqrt(total(values.map((value) => (value - center) ** 2)) / (values.length - 1) / values.length);
}
