// Blind reviews: what models and other people said, and who returned a passage, only after the reviewer.

/** Whether the page may show what others said of a pair. */
function revealsPair(query, p, e) {
  return !review.head.blind || ownRating(query, p, e) !== undefined;
}

/** Systems, judgments and ids speak of all pairs of a passage: they come when all are rated. */
function revealsPassage(query, p) {
  return !review.head.blind || query.entries.every((_, e) => ownRating(query, p, e) !== undefined);
}

function passageName(query, p) {
  return revealsPassage(query, p) ? query.ids[p] : `Passage ${p + 1}`;
}

/** A grader's rating, or null where there is none, or none that may be shown. */
function shownRating(query, p, e, g) {
  return revealsPair(query, p, e) ? query.rating(p, e, g) : null;
}
