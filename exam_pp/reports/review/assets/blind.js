// Blind reviews: grades by models and other reviewers, and systems, are hidden until the reviewer has rated.

/** Whether the page may show the grades of a pair. */
function revealsPair(query, p, e) {
  return !review.head.blind || ownRating(query, p, e) !== undefined;
}

/** Whether the page may show systems, judgments and id of a passage: when all its pairs are rated and its citations labelled. */
function revealsPassage(query, p) {
  if (!review.head.blind) return true;
  if (review.head.live) return false; // the server does not tell
  return query.asked(p).every((e) => ownRating(query, p, e) !== undefined) && query.citations(p).every(({ id, text }) => text === null || ownSupport(query, p, id) !== undefined);
}

function passageName(query, p) {
  return revealsPassage(query, p) ? query.ids[p] : worded(`Passage ${p + 1}`);
}

/** A grader's rating, or null if it is missing or hidden. */
function shownRating(query, p, e, g) {
  return revealsPair(query, p, e) ? query.rating(p, e, g) : null;
}
