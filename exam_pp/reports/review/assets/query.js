// The query view: entries, and the grid of passages × entries.

const queryViews = new Map(); // index of a query -> search, filter, sort order and selection

function queryView(index) {
  if (!queryViews.has(index)) {
    const sort = review.head.blind ? "order" : "relevance";
    queryViews.set(index, { search: "", filter: review.head.prompt.name ? "all" : "citing", system: "", sort, descending: sort !== "order", row: 0, e: 0, order: null });
  }
  return queryViews.get(index);
}

// Filters and sort order of passages

const FILTERS = [
  ["all", "all", () => true],
  ["relevant", "judged > 0", (query, p) => query.judgment(p) > 0],
  ["nonrelevant", "judged 0 or less", (query, p) => query.judgment(p) !== null && query.judgment(p) <= 0],
  ["unjudged", "without a judgment", (query, p) => query.judgment(p) === null],
  ["covering", "covering an entry", coversAnyEntry],
  ["mistakes", "with mistakes made", (query, p) => anyEntry(query, p, (e) => isMade(query, p, e))],
  ["missed", "judged > 0, covering no entry", (query, p) => query.judgment(p) > 0 && !coversAnyEntry(query, p)],
  ["spurious", "judged 0 or less, covering an entry", (query, p) => query.judgment(p) !== null && query.judgment(p) <= 0 && coversAnyEntry(query, p)],
  ["odd", "with a rating by the default rule", (query, p) => anyEntry(query, p, (e) => (query.string("source", p, e, app.grader) ?? "").startsWith("default"))],
  ["ungraded", "with ungraded pairs", (query, p) => anyEntry(query, p, (e) => query.rating(p, e, app.grader) === null)],
  ["disagree", "on which graders disagree", gradersDisagree],
  ["differs", "where your rating differs", (query, p) => anyEntry(query, p, (e) => differs(query, p, e))],
  ["open", "not all rated by you", (query, p) => anyEntry(query, p, (e) => ownRating(query, p, e) === undefined)],
  ["citing", "with citations", (query, p) => query.citations(p).length > 0],
  ["unlabelled", "with citations not labelled by you", (query, p) => query.citations(p).some(({ id }) => ownSupport(query, p, id) === undefined)],
  ["own", "rated by you", (query, p) => anyEntry(query, p, (e) => ownRating(query, p, e) !== undefined)],
];
const BLIND_FILTERS = new Set(["all", "open", "citing", "unlabelled", "own"]);

function queueName(view) {
  const [, label] = FILTERS.find(([name]) => name === view.filter);
  return worded(view.filter === "all" ? "By passage" : `Passages ${label}`);
}

function anyEntry(query, p, test) {
  return query.asked(p).some((e) => test(e));
}

function coversAnyEntry(query, p) {
  return query.ratings(p, app.grader).some((rating) => rating >= review.head.min_grade);
}

function gradersDisagree(query, p) {
  return anyEntry(query, p, (e) => {
    const ratings = review.head.graders.map((_, g) => query.rating(p, e, g)).filter((rating) => rating !== null);
    return new Set(ratings).size > 1;
  });
}

function differs(query, p, e) {
  const own = ownRating(query, p, e);
  return own !== undefined && own.rating !== query.rating(p, e, app.grader);
}

const HIGHEST_SUM = 1e6; // above the sum of the ratings of any passage

const SORTS = [
  ["relevance", "relevance and grade", (query, p) => (query.judgment(p) ?? -1) + sumOfRatings(query, p) / HIGHEST_SUM],
  ["grade", "grade", sumOfRatings],
  ["order", "order of the file", (_, p) => p],
  ["judgment", "judgment", (query, p) => query.judgment(p) ?? -Infinity],
  ["id", "id", (query, p) => query.ids[p]],
  ["rank", "rank", (query, p, view) => (view.system === "" ? query.ranks(p)[0]?.[1] : query.rankOf(p, Number(view.system))) ?? Infinity],
];

function sumOfRatings(query, p) {
  return query.ratings(p, app.grader).reduce((sum, rating) => sum + rating, 0);
}

/** The value to sort by; "e3" is the rating of the fourth entry (in a blind review, the reviewer's rating). */
function sortValue(query, view, p) {
  const entry = /^e(\d+)$/u.exec(view.sort);
  if (!entry) return SORTS.find(([name]) => name === view.sort)[2](query, p, view);
  const e = Number(entry[1]);
  return (review.head.blind ? ownRating(query, p, e)?.rating : query.rating(p, e, app.grader)) ?? -1;
}

/** Sets `view.order` to the indexes of the shown passages. */
function arrangePassages(query, view) {
  const search = view.search.toLowerCase();
  const test = FILTERS.find(([name]) => name === view.filter)[2];
  const named = (p) => revealsPassage(query, p) && query.ids[p].toLowerCase().includes(search);
  view.order = query.ids
    .map((_, p) => p)
    .filter((p) => test(query, p))
    .filter((p) => view.system === "" || query.rankOf(p, Number(view.system)) !== null)
    .filter((p) => !search || query.text(p).toLowerCase().includes(search) || named(p));
  sortBy(view.order, (p) => sortValue(query, view, p), view.descending);
  view.row = Math.max(0, Math.min(view.row, view.order.length - 1));
  if (view.order.length) view.e = query.nearestAsked(view.order[view.row], view.e);
}

// The page

async function renderQuery(main, index) {
  const query = await openQuery(index);
  if (app.view.name !== "query" || app.view.q !== index) return;
  const view = queryView(index);
  if (!view.order) arrangePassages(query, view);
  const draw = () => {
    arrangePassages(query, view);
    const sortedBy = controls.querySelector("[data-focus='Sort by']");
    if (sortedBy) sortedBy.value = view.sort;
    redraw(queue, () => [queueBar(queueName(view))]);
    shown.textContent = `${view.order.length.toLocaleString("en")} of ${count(query.size, worded("passage"))}`;
    grid.show(view.order.length, gridHeader(query, view, draw));
    showSelected();
  };
  const controls = queryControls(query, view, () => draw());
  const shown = el("span", { class: "faint", role: "status" });
  const queue = el("div", {});
  const selected = el("section", { class: "panel selected-pair", "aria-label": "Selected pair" });
  const grid = new Grid({
    label: worded("Passages and ratings"),
    header: gridHeader(query, view, () => draw()),
    columns: query.entries.length + 3,
    makeRow: (row) => gridRow(query, view, row),
  });
  const showSelected = () => redraw(selected, () => selectedPair(query, view));
  const entries = el("div", {});
  const sides = el("div", {});
  const drawEntries = () => redraw(entries, () => entryPanel(query, () => { drawEntries(); showSelected(); }));
  app.screen = { query, view, grid, draw, select: (row, e) => selectPair(query, view, grid, row, e, showSelected), refresh: () => { grid.show(view.order.length); drawEntries(); drawSides(); showSelected(); } };
  grid.element.addEventListener("click", (event) => clickCell(event, view));
  grid.element.addEventListener("dblclick", () => openSelected());
  const drawSides = () => redraw(sides, () => [sidesPanel(query, drawSides)]);
  drawEntries();
  drawSides();
  fill(
    main,
    queryHeading(query),
    queue,
    entries,
    sides,
    controls,
    gridLegend(query),
    el("div", { class: "columns wide" }, el("div", {}, shown, grid.element), selected),
  );
  draw();
  grid.reveal(view.row);
}

function queryHeading(query) {
  const last = review.head.queries.length - 1;
  const step = (by, label) => {
    const index = query.index + by;
    return index < 0 || index > last ? null : el("a", { href: `#/q/${index}` }, label);
  };
  return el(
    "div",
    { class: "heading" },
    el("h1", { dir: "auto" }, query.queryText || query.id),
    query.queryText && el("span", { class: "faint" }, query.id),
    el("nav", { "aria-label": "Queries" }, step(-1, "← previous query"), " ", step(1, "next query →")),
  );
}

function queryControls(query, view, draw) {
  const { head } = review;
  const filters = FILTERS.filter(([name]) => (!head.blind || BLIND_FILTERS.has(name)) && (name !== "mistakes" || query.entries.some(avoids)));
  const change = (name) => (value) => {
    view[name] = value;
    if (name === "sort") view.descending = !["order", "id", "rank"].includes(value);
    view.row = 0;
    draw();
  };
  return el(
    "div",
    { class: "controls" },
    searchField(worded("Search passages"), view.search, change("search")),
    choice("Show", filters.map(([name, label]) => [name, worded(label)]), view.filter, change("filter")),
    !head.blind && head.systems.length > 0 &&
      choice("System", [["", "all"], ...head.systems.map((name, index) => [index, name])], view.system, change("system")),
    !head.blind && choice("Sort by", sortOptions(query), view.sort, change("sort")),
  );
}

function sortOptions(query) {
  return [...SORTS.filter(([name]) => name !== "rank" || !review.head.answers).map(([name, label]) => [name, label]), ...query.entries.map((_, e) => [`e${e}`, `entry ${e + 1}`])];
}

// The grid

function gridHeader(query, view, draw) {
  const sort = (name, label, properties) =>
    sortHeader({ name, label, number: true, ...properties }, view, draw);
  return el(
    "tr",
    {},
    el("th", { scope: "col", class: "passage" }, worded("Passage")),
    review.head.blind ? el("th", { scope: "col" }, "Yours") : sort("judgment", "Judg."),
    query.entries.map((entry, e) => {
      const header = sort(`e${e}`, String(e + 1));
      header.classList.add("entry");
      header.title = editedEntry(query.id, entry).text;
      header.firstChild.setAttribute("aria-label", `Entry ${e + 1}: ${header.title}`);
      return header;
    }),
    el("th", { scope: "col", class: "rest" }, "Text"),
  );
}

function gridRow(query, view, row) {
  const p = view.order[row];
  const own = query.asked(p).filter((e) => ownRating(query, p, e) !== undefined).length;
  return el(
    "tr",
    { class: row === view.row ? "selected" : null, "data-row": row },
    el("th", { scope: "row", class: "passage", dir: "auto" }, el("a", { href: passageAddress(query.index, p, view.e), tabindex: -1 }, passageName(query, p))),
    el("td", { class: "number" }, review.head.blind ? `${own} / ${query.asked(p).length}` : query.judgments[p].join(", ")),
    query.entries.map((_, e) => gridCell(query, view, row, p, e)),
    el("td", { class: "rest", dir: "auto" }, shortened(query.text(p), 160)),
  );
}

function gridCell(query, view, row, p, e) {
  if (!query.asks(p, e)) return el("td", { class: "cell", "data-row": row, "aria-label": `Entry ${e + 1}: not asked` });
  const rating = shownRating(query, p, e, app.grader);
  const own = ownRating(query, p, e);
  const selected = row === view.row && e === view.e;
  const entry = query.entries[e];
  // Of a mistake, the colour is of the rating that counts, so that a correction shows.
  const coloured = avoids(entry) ? currentRating(query, p, e) : (rating ?? own?.rating ?? null);
  const shadeClass = coloured === null ? "" : ` ${ratingClass(entry, coloured)}`;
  return el(
    "td",
    {
      class: `cell${shadeClass}${own ? " own" : ""}`,
      tabindex: selected ? 0 : -1,
      "aria-selected": selected ? "true" : "false",
      "aria-label": `Entry ${e + 1}: ${cellLabel(query, p, e)}`,
      "data-row": row,
      "data-e": e,
    },
    cellText(query, p, e, rating, own),
    isMade(query, p, e) && " !",
  );
}

function cellText(query, p, e, rating, own) {
  const model = rating === null ? (revealsPair(query, p, e) && query.string("reason", p, e, app.grader) ? "–" : "") : String(rating);
  if (own === undefined) return model || "·";
  if (rating === null) return String(own.rating);
  return own.rating === rating ? `${model} ✓` : `${model}→${own.rating}`;
}

function cellLabel(query, p, e) {
  const rating = shownRating(query, p, e, app.grader);
  const own = ownRating(query, p, e);
  const label = (value) => ratingLabel(query.entries[e], value);
  const shown = rating === null ? "no rating shown" : `rated ${label(rating)}`;
  return own ? `${shown}, yours ${label(own.rating)}` : shown;
}

/** The colours of the cells, and the signs of cells with a rating by the reviewer. */
function gridLegend(query) {
  const grader = review.head.graders[app.grader];
  const own = (text) => el("span", { class: "rating own" }, text);
  const [first, second] = review.head.scale.slice(-2).map(([rating]) => rating);
  const mistake = query.entries.some(avoids) && [[el("span", { class: "rating mistake" }, `${second} !`), "mistake made"]];
  if (review.head.blind || grader === undefined) return legend([own(second), "your rating"], ...(mistake || []));
  return legend(
    [own(`${second} ✓`), "you agree"],
    [own(`${first}→${second}`), `${grader}: ${first}, you: ${second}`],
    [el("span", { class: "rating" }, "–"), "without a rating"],
    ...(mistake || []),
  );
}

// The selected pair

function clickCell(event, view) {
  const cell = event.target.closest("[data-row]");
  if (!cell || event.target.closest("a")) return;
  app.screen.select(Number(cell.dataset.row), cell.dataset.e === undefined ? view.e : Number(cell.dataset.e));
  app.screen.grid.focusSelected();
}

function selectPair(query, view, grid, row, e, showSelected) {
  const before = view.row;
  view.row = Math.max(0, Math.min(view.order.length - 1, row));
  view.e = Math.max(0, Math.min(query.entries.length - 1, e));
  if (view.order.length) view.e = query.nearestAsked(view.order[view.row], view.e);
  grid.update([before, view.row]);
  grid.reveal(view.row);
  showSelected();
}

function selectedPair(query, view) {
  const p = view.order[view.row];
  if (p === undefined) return el("p", {}, worded("No passage matches."));
  const pair = query.entries.length > 0;
  return [
    el(
      "h2",
      {},
      el("a", { href: passageAddress(query.index, p, view.e), dir: "auto" }, passageName(query, p)),
      pair && el("span", { class: "faint" }, ` with entry ${view.e + 1}`),
    ),
    passageText(query, p, view.e),
    pair && el("p", { class: "entry-text", dir: "auto" }, editedEntry(query.id, query.entries[view.e]).text, " ", el("span", { class: "chips" }, worthChips(query.entries[view.e]))),
    pair ? pairBody(query, p, view.e, app.screen.refresh) : el("p", { class: "faint" }, "This query has no bank entries to rate."),
  ];
}

function openSelected() {
  const { query, view } = app.screen;
  const p = view.order[view.row];
  if (p !== undefined) navigate({ name: "passage", q: query.index, p, e: view.e });
}

function passageAddress(q, p, e) {
  return `#/q/${q}/p/${p}/e/${e}`;
}
