// The fair sample: the queue of pairs whose ratings make a verdict that holds, whatever the judge is worth.
//
// In every query, entries come in a random order. A look is complete when people have decided its first entries for
// every system: one passage within the cutoff is rated at the threshold or above, or all of them are rated.

const fair = { queries: null, orders: new Map(), queue: [], at: 0 };

function hasFairSample() {
  return review.head.queries.some((query) => query.sample?.length);
}

/** Opens all queries with a sample. */
async function openFair() {
  const sampled = review.head.queries.flatMap((query, index) => (query.sample?.length ? [index] : []));
  fair.queries ??= await Promise.all(sampled.map(openQuery));
}

/** The sizes of the looks, in entries per query: 1, 2, 3, 5, 8, ... up to all. */
function lookSizes() {
  const most = Math.max(...fair.queries.map((query) => query.sample.length));
  const sizes = [];
  for (let [size, next] = [1, 2]; size < most; [size, next] = [next, size + next]) sizes.push(size);
  return [...sizes, most];
}

/** The passages to rate until an entry is decided for every system, in the judge's order; identical texts once. */
function undecided(query, e) {
  const open = new Set();
  for (const top of Object.values(query.cover.tops)) {
    const ratings = top.map((p) => (query.text(p).trim() ? peopleRating(query, p, e) : 0)); // an empty text covers nothing
    if (ratings.some((rating) => rating !== null && rating >= review.head.min_grade)) continue;
    top.forEach((p, i) => ratings[i] === null && open.add(p));
  }
  const texts = new Map();
  for (const p of judgesOrder(query, e)) if (open.has(p) && !texts.has(query.textKey(p))) texts.set(query.textKey(p), p);
  return [...texts.values()];
}

/** The passages within the cutoff: those with the highest rating first, then by rank. */
function judgesOrder(query, e) {
  const judge = judgeIndex();
  const key = [query.index, e, judge].join();
  if (!fair.orders.has(key)) {
    const order = [...new Set(Object.values(query.cover.tops).flat())];
    const value = new Map(order.map((p) => [p, [-(query.rating(p, e, judge) ?? -1), query.ranks(p)[0][1], p]]));
    const compare = (a, b) => value.get(a).map((number, i) => number - value.get(b)[i]).find((difference) => difference) ?? 0;
    fair.orders.set(key, order.sort(compare));
  }
  return fair.orders.get(key);
}

/** The judge whose leaderboard is shown. */
function judgeIndex() {
  const { graders, leaderboards } = review.head;
  const shown = leaderboards.find(({ grader }) => grader === graders[app.grader]) ?? leaderboards[0];
  return Math.max(0, graders.indexOf(shown?.grader));
}

/** The first look that is not complete (from 1; else the last one), the number of looks, its entries and its pairs to rate, in order. */
function fairState() {
  const sizes = lookSizes();
  const known = fair.queries.map(() => []);
  const pairsOf = (query, e) => undecided(query, e).map((p) => ({ q: query.index, p, e }));
  const entriesOf = (size) => fair.queries.flatMap((query, i) => query.sample.slice(0, size).map((e, at) => (known[i][at] ??= pairsOf(query, e))));
  let look = 0, entries = entriesOf(sizes[look]);
  while (!entries.some((pairs) => pairs.length) && look + 1 < sizes.length) entries = entriesOf(sizes[++look]);
  return { look: look + 1, looks: sizes.length, entries: entries.length, decided: entries.filter((pairs) => !pairs.length).length, pairs: entries.flat() };
}

function fairText() {
  const { look, looks, entries, decided, pairs } = fairState();
  const verdict = review.head.live ? "see the leaderboard" : "save the edits and apply them for a verdict";
  if (!pairs.length) return `Fair sample: all ${count(entries, "entry", "entries")} decided. Now ${verdict}.`;
  const before = look > 1 ? ` Look ${look - 1} is complete: ${verdict}, or go on.` : "";
  return `Fair sample: look ${look} of ${looks}, ${decided} of ${entries} decided, at most ${count(pairs.length, "rating")} to go.${before}`;
}

/** Shows a pair of the queue: the next (1) that is to be rated, or the previous (-1) that is or was. */
function moveInFair(by) {
  const open = new Set(fairState().pairs.map(({ q, p, e }) => passageAddress(q, p, e)));
  const rated = ({ q, p, e }) => ownRating(fair.queries.find(({ index }) => index === q), p, e) !== undefined;
  const isNext = (pair) => open.has(passageAddress(pair.q, pair.p, pair.e)) || (by < 0 && rated(pair));
  let at = fair.at + by;
  while (fair.queue[at] && !isNext(fair.queue[at])) at += by;
  if (fair.queue[at]) fair.at = at;
  else if (by > 0) startQueue();
  showFair();
}

function startQueue() {
  const { pairs } = fairState();
  if (pairs.length) Object.assign(fair, { queue: pairs, at: 0 });
}

/** Turns the view of the queue into that of its pair; without pairs, into the overview. */
function showFair() {
  const pair = fair.queue[fair.at];
  if (!pair) return navigate({ name: "overview" }, { replace: true });
  app.view = { name: "passage", ...pair, fair: true };
  return render();
}

async function enterFair() {
  await openFair();
  if (app.view.name !== "fair") return;
  startQueue();
  await showFair();
}

/** Which queue the reviewer is in, above what is rated; `queue` names another one than the fair sample. */
function queueBar(queue = "") {
  if (!hasFairSample()) return null;
  if (app.view.fair) {
    return el("p", { class: "notice queue", role: "status" }, fairText(), " ", button("Next", () => moveInFair(1), { class: "small", title: "key: j", "data-focus": "next" }));
  }
  const note = `${queue}: not a fair sample, but for finding faults of the judge and the bank. `;
  return el("p", { class: "faint queue" }, note, el("a", { href: "#/fair" }, "Go to the fair sample"));
}

/** The queue that the overview offers first. */
function fairPanel() {
  if (!hasFairSample()) return null;
  const text = el("span", { class: "fair-state" }, "Fair sample");
  const start = el("a", { href: "#/fair", "data-focus": "fair" }, "Start rating");
  const show = () => {
    text.textContent = fairText();
    start.hidden = !fairState().pairs.length;
  };
  // A served page asks for each query.
  if (!review.head.live || fair.queries || review.head.queries.length <= 50) openFair().then(show);
  return el("p", { class: "notice queue" }, text, " ", start);
}
