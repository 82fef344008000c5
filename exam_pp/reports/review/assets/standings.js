// The leaderboard and the counts with the reviewer's ratings, as `exam-pp evaluate cover` and `rubric` compute them after `exam-pp apply`.

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
    for (const [system, score] of scoresOf(query, leaderboard)) scores.get(system)[place] = score;
  }
  const before = new Map(leaderboard.rows.map(([system, mean]) => [system, mean]));
  return [...scores].map(([system, values]) => {
    const score = mean(values), earlier = before.get(system);
    // Sums in another order differ by rounding errors.
    return [system, score, standardError(values), Math.abs(earlier - score) < 1e-9 ? score : earlier];
  });
}

/** The score of every system for a query: Σ credit × weight of what reaches a grade, as a share of the positive weights (measures.py). */
function scoresOf(query, { grader, steps, scores }) {
  const judge = review.head.graders.indexOf(grader);
  const passages = [...Array(query.size).keys()];
  const ratings = passages.map((p) => query.entries.map((_, e) => reviewedRating(query, p, e, judge)));
  const rated = [...query.entries.keys()].filter((e) => ratings.some((of) => of[e] !== null));
  const units = query.cover.units ?? rated.map((e) => [1, "any", [e]]);
  const whole = total(units.map(([weight]) => Math.max(0, weight)));
  const score = (top) => {
    const contradicts = (e) => top.some((p) => ratings[p][e] === -1);
    const reaches = (grade) => (e) => top.some((p) => ratings[p][e] !== null && ratings[p][e] >= grade) && !contradicts(e);
    const earned = steps.flatMap(([grade, credit]) => units.map((unit) => credit * unit[0] * partOf(unit, reaches(grade))));
    return whole ? total(earned) / whole : 0;
  };
  return Object.keys(scores).map((system) => [system, score(system === "_overall_" ? passages : (query.cover.tops[system] ?? []))]);
}

/** The part of its weight that a unit of entries earns: of a group, by any of them, by all, or by each its share (mean). */
function partOf([, combine, entries], reached) {
  const share = entries.filter(reached).length / entries.length;
  return combine === "mean" ? share : Number(combine === "any" ? share > 0 : share === 1);
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
  if (head.blind || head.live || !head.graders.length) return;
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
  const covered = new Set(), mistakes = new Set(), judged = new Map();
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
      const avoided = avoids(query.entries[e]);
      if (!avoided) best = Math.max(best, level);
      if (rating >= review.head.min_grade) (avoided ? mistakes : covered).add(e);
    }
    const judgment = query.judgment(p);
    if (best < 0 || judgment === null) continue;
    if (!judged.has(judgment)) judged.set(judgment, Array(highest + 1).fill(0));
    judged.get(judgment)[best]++;
  }
  return { ratings, ungraded, covered: covered.size, mistakes: mistakes.size, judged: [...judged] };
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
