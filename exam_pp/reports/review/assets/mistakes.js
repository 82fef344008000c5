// Entries with a weight below 0 are mistakes that an answer should avoid: where one is made, the page is red and says so.

function avoids({ weight = 1 }) {
  return weight < 0;
}

function hasMistakes() {
  return review.head.queries.some((query) => query.entries.some(avoids));
}

/** What a rating says about a mistake; empty for other entries, and without a rating. */
function mistakeWords(entry, rating) {
  if (!avoids(entry) || rating === null) return "";
  if (rating >= review.head.min_grade) return "mistake made";
  return rating > 0 ? "mistake partly made" : "avoided";
}

/** The label of a rating, with what it says about a mistake. */
function ratingLabel(entry, rating) {
  return [step(rating).label, mistakeWords(entry, rating)].filter(Boolean).join(": ");
}

/** The class that colours a rating. */
function ratingClass(entry, rating) {
  const words = mistakeWords(entry, rating);
  if (!words) return `shade-${shade(rating)}`;
  return words === "avoided" ? "shade-0" : words.includes("partly") ? "mistake partly" : "mistake";
}

/** The reviewer's rating, else the shown one; null without either. */
function currentRating(query, p, e) {
  return ownRating(query, p, e)?.rating ?? shownRating(query, p, e, app.grader);
}

function isMade(query, p, e) {
  const rating = currentRating(query, p, e);
  return avoids(query.entries[e]) && rating !== null && rating >= review.head.min_grade;
}

/** What an entry is worth: whether it is to be avoided, its weight, category and group. */
function worthChips(entry) {
  const { weight = 1, category, group } = entry;
  const texts = [avoids(entry) && "to avoid", weight !== 1 && `weight ${weight}`, category, group];
  return texts.filter(Boolean).map((text) => el("span", { class: "chip", dir: "auto", title: text }, text));
}
