// The overview: leaderboard, distribution of ratings, and list of queries.

const overview = { search: "", sort: "index", descending: false, selected: 0, shown: [] };

async function renderOverview(main) {
  const { head } = review;
  await countReviewed();
  if (app.view.name !== "overview") return;
  fill(
    main,
    el("h1", { dir: "auto" }, `${head.blind ? "Blind review" : "Review"} of ${head.title}`),
    el("p", { class: "lead" }, overviewSummary()),
    head.notes.map((note) => el("p", { class: "notice" }, note)),
    fairPanel(),
    head.blind ? el("p", { class: "notice" }, blindNotice()) : panels(),
    queryList(),
  );
}

function blindNotice() {
  const shown = review.head.live
    ? "Ratings and replies of the judge appear after you rate a pair; systems, judgments, ids, and what others do, stay hidden. A blind page has no fair sample."
    : "Ratings and replies of models and other reviewers appear after you rate a pair; systems, judgments and ids " +
      "appear after you rate all pairs and label all citations of a passage.";
  return `${shown} The order of the passages has no meaning.`;
}

function overviewSummary() {
  const { head } = review;
  const passages = total(head.queries.map((query) => query.passages));
  const pairs = total(head.queries.map(askedPairs));
  const size = `${head.graded.name}: ${count(head.queries.length, "query", "queries")}, ${count(passages, worded("passage"))}`;
  if (!head.prompt.name) return `${size}. Citations only, because the file has no ratings.`;
  return `${size}, ` +
    `${count(pairs, `${isSample() ? "sampled " : ""}pair`)} of ${worded("passage")} and bank entry. Prompt: ${head.prompt.shown}.`;
}

function panels() {
  const { head } = review;
  if (!head.graders.length) return el("p", { class: "notice" }, head.prompt.name ? "The file has no grades yet. This page collects your ratings." : "Open a query, then a passage, to label its citations.");
  const g = app.grader;
  return el(
    "div",
    { class: "panels" },
    head.leaderboards.filter(({ grader }) => grader === head.graders[g]).map(leaderboardPanel),
    distribution(),
    byJudgment(),
  );
}

function leaderboardPanel(leaderboard) {
  const body = el("tbody", {}, leaderboardRows(leaderboard.rows));
  if (work.ratings.size) standingsOf(leaderboard).then((rows) => body.replaceChildren(...leaderboardRows(rows)));
  return el(
    "section",
    { class: "panel leaderboard", tabindex: 0, "aria-label": "Leaderboard" },
    el("h2", {}, "Leaderboard"),
    el("p", { class: "faint" }, shownMetric(leaderboard), work.ratings.size ? " with your ratings" : ""),
    el("table", {}, tableHead(["System", "", "Mean ± error", ...(work.ratings.size ? ["Before"] : [])]), body),
    leaderboard.notes.map((note) => el("p", { class: "faint" }, work.ratings.size ? "Before your ratings: " : "", note)),
  );
}

/** The measure; answers have no ranks, so no cutoff. */
function shownMetric({ metric }) {
  const { answers, criteria } = review.head;
  return answers ? `${criteria ? "" : "Facts stated: "}${metric.replace(/@\d+$/u, "")}` : metric;
}

function leaderboardRows(rows) {
  // The upper bound (all passages together) is not a system, so it comes last.
  const sorted = [...rows].sort((a, b) => (a[0] === "_overall_") - (b[0] === "_overall_") || b[1] - a[1]);
  return sorted.map(([system, mean, error, before]) =>
    el(
      "tr",
      { class: system === "_overall_" ? "faint" : null, "data-system": system, "data-mean": mean },
      el("th", { scope: "row", dir: "auto" }, system === "_overall_" ? worded("all passages") : system),
      el("td", {}, scoreBar(mean, error)),
      el("td", { class: "number" }, error === null ? mean.toFixed(3) : `${mean.toFixed(3)} ± ${error.toFixed(3)}`),
      before === undefined ? null : el("td", { class: "number faint" }, before === mean ? "" : `${before.toFixed(3)} ${mean > before ? "↑" : "↓"}`),
    ),
  );
}

function distribution() {
  const sums = summed(review.head.queries.map((query) => shownCounts(query).ratings));
  const ungraded = total(review.head.queries.map((query) => shownCounts(query).ungraded));
  return el(
    "section",
    { class: "panel" },
    el("h2", {}, "Ratings"),
    el("p", { class: "faint" }, `${count(total(sums), "rating")}, ${count(ungraded, "ungraded pair")}`, work.ratings.size ? ", with yours" : ""),
    columnChart(sums, "Share of each rating"),
  );
}

/** The element-wise sum of lists of rating counts. */
function summed(lists) {
  return lists.reduce((sum, list) => list.map((value, i) => value + (sum[i] ?? 0)), []);
}

function total(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** A panel with the best ratings of passages for each level of the manual judgments. */
function byJudgment() {
  const byLevel = new Map();
  for (const query of review.head.queries) {
    for (const [level, counts] of shownCounts(query).judged) byLevel.set(level, summed([byLevel.get(level) ?? [], counts]));
  }
  if (!byLevel.size) return null;
  const rows = [...byLevel].sort((a, b) => b[0] - a[0]);
  return el(
    "section",
    { class: "panel" },
    el("h2", {}, "Best rating by judgment"),
    el("p", { class: "faint" }, "The highest rating of each judged passage; darker is higher."),
    el(
      "table",
      {},
      tableHead(["Judgment", worded("Passages"), "Best ratings"]),
      el(
        "tbody",
        {},
        rows.map(([level, counts]) =>
          el(
            "tr",
            {},
            el("th", { scope: "row" }, String(level)),
            el("td", { class: "number" }, total(counts).toLocaleString("en")),
            el("td", {}, shareBar(counts, `Best ratings of passages judged ${level}`, 140)),
          ),
        ),
      ),
    ),
  );
}

// The list of queries

const QUERY_COLUMNS = [
  { name: "index", label: "#", value: (query, index) => index },
  { name: "text", label: "Query", value: (query) => query.text || query.id },
  { name: "passages", label: "Passages", answers: "Answers", value: (query) => query.passages, number: true },
  { name: "entries", label: "Entries", value: (query) => query.entries.length, number: true },
  { name: "relevant", label: "Judged > 0", value: judgedRelevant, number: true },
  { name: "covered", label: "Covered", answers: "Facts stated", value: (query) => shownCounts(query)?.covered ?? -1, number: true, open: true },
  { name: "mistakes", label: "Mistakes", value: (query) => shownCounts(query)?.mistakes ?? -1, number: true, open: true },
  { name: "mean", label: "Ratings", value: meanRating, open: true },
  { name: "own", label: "Yours", value: askedRatings, number: true },
];

function judgedRelevant(query) {
  return total(query.judged.map(([level, number]) => (level > 0 ? number : 0)));
}

function meanRating(query) {
  const counts = shownCounts(query)?.ratings ?? [];
  return total(counts) ? total(counts.map((number, rating) => number * rating)) / total(counts) : -1;
}

function queryColumns() {
  const { head } = review;
  const judged = !head.blind && head.queries.some((query) => query.judged.length);
  const named = ({ answers, label, ...column }) => ({ ...column, label: worded(answers && head.answers ? answers : label) });
  return QUERY_COLUMNS.map(named).filter(
    (column) => (column.name !== "relevant" || judged) && (column.name !== "mistakes" || hasMistakes()) && (!column.open || (!head.blind && head.graders.length)),
  );
}

function queryList() {
  const body = el("tbody", {});
  const columns = queryColumns();
  const header = el("tr", {}, columns.map((column) => sortHeader(column, overview, () => refresh())));
  const refresh = () => {
    arrangeQueries();
    header.replaceChildren(...columns.map((column) => sortHeader(column, overview, refresh)));
    body.replaceChildren(...overview.shown.map((index, row) => queryRow(index, row, columns)));
    if (!overview.shown.length) body.append(el("tr", {}, el("td", { colspan: columns.length }, "No query matches.")));
  };
  refresh();
  return el(
    "section",
    { "aria-label": "Queries" },
    el("h2", {}, "Queries"),
    searchField("Search queries and bank entries", overview.search, (text) => {
      overview.search = text;
      overview.selected = 0;
      refresh();
    }),
    !review.head.blind && review.head.graders.length > 0 && legend(),
    el("div", { class: "scroll" }, el("table", { class: "list", id: "queries" }, el("thead", {}, header), body)),
  );
}

function arrangeQueries() {
  const column = QUERY_COLUMNS.find(({ name }) => name === overview.sort);
  const search = overview.search.toLowerCase();
  const queries = review.head.queries;
  const matches = (query) =>
    [query.id, query.text, ...query.entries.map((entry) => entry.text)].some((text) => text.toLowerCase().includes(search));
  overview.shown = queries.map((_, index) => index).filter((index) => !search || matches(queries[index]));
  sortBy(overview.shown, (index) => column.value(queries[index], index), overview.descending);
}

/** Sorts the list itself by value; equal values stay in the order of the file. */
function sortBy(indexes, value, descending) {
  const sign = descending ? -1 : 1;
  const values = new Map(indexes.map((index) => [index, value(index)]));
  indexes.sort((left, right) => {
    const [a, b] = [values.get(left), values.get(right)];
    if (a === b) return left - right;
    return sign * (typeof a === "string" ? a.localeCompare(b) : a - b);
  });
}

/** A column header with a button that sorts by the column. */
function sortHeader(column, state, refresh) {
  const chosen = state.sort === column.name;
  const direction = chosen ? (state.descending ? "descending" : "ascending") : "none";
  const sort = () => {
    state.descending = chosen ? !state.descending : Boolean(column.number || column.open);
    state.sort = column.name;
    refresh();
  };
  const arrow = chosen ? (state.descending ? " ↓" : " ↑") : "";
  return el(
    "th",
    { scope: "col", class: column.number ? "number" : null, "aria-sort": direction },
    button(column.label + arrow, sort, { class: "plain", title: `Sort by ${column.label}` }),
  );
}

function searchField(label, value, action) {
  const input = el("input", { type: "search", value, "data-search": true, oninput: () => action(input.value) });
  return el("label", { class: "field search" }, el("span", {}, label), input);
}

function queryRow(index, row, columns) {
  const query = review.head.queries[index];
  const cells = {
    index: () => String(index + 1),
    text: () => [
      el("a", { href: `#/q/${index}`, dir: "auto" }, query.text || query.id),
      query.text ? el("span", { class: "faint" }, ` ${query.id}`) : null,
    ],
    covered: () => `${shownCounts(query).covered} / ${query.entries.filter((entry) => !avoids(entry)).length}`,
    mistakes: () => `${shownCounts(query).mistakes} / ${query.entries.filter(avoids).length}`,
    mean: () => shareBar(shownCounts(query).ratings, "Ratings"),
    own: () => isSample() ? `${askedRatings(query)} / ${askedPairs(query)}` : askedRatings(query) || "",
  };
  const column = (name) => QUERY_COLUMNS.find((item) => item.name === name);
  return el(
    "tr",
    { class: row === overview.selected ? "selected" : null, "data-row": row, onclick: () => navigate({ name: "query", q: index }) },
    columns.map(({ name, label, value, number }) =>
      el("td", { class: number ? "number" : null, "data-label": label, "data-column": name }, (cells[name] ?? (() => String(value(query, index))))()),
    ),
  );
}

/** Moves the selection of the overview (keys j and k). */
function moveInOverview(by) {
  overview.selected = Math.max(0, Math.min(overview.shown.length - 1, overview.selected + by));
  for (const row of document.querySelectorAll("#queries tbody tr")) {
    const selected = Number(row.dataset.row) === overview.selected;
    row.classList.toggle("selected", selected);
    if (selected) {
      row.querySelector("a")?.focus();
      row.scrollIntoView({ block: "nearest" });
    }
  }
}
