// The list of the reviewer's ratings, labels of citations and bank edits, with a button to undo each.

async function renderChanges(main) {
  const ratings = await Promise.all([...work.ratings.values()].map(locate));
  const labels = await Promise.all([...work.supports.values()].map(locate));
  if (app.view.name !== "work") return;
  const edits = work.document.bank;
  const outdated = ratings.filter(isOutdated).length;
  fill(
    main,
    el("h1", {}, "Your work"),
    el("p", { class: "lead" }, `${countedWork()}. ${saveState()}`),
    outdated > 0 && el("p", { class: "notice" }, `${count(outdated, "rating is of a text", "ratings are of texts")} that changed: kept, but not counted.`),
    ratings.length > 0 && el("div", { class: "scroll" }, ratingTable(ratings, () => renderChanges(main))),
    labels.length > 0 && el("div", { class: "scroll" }, labelTable(labels, () => renderChanges(main))),
    edits.length > 0 && el("div", { class: "scroll" }, editTable(edits, () => renderChanges(main))),
    el("h2", {}, "Next steps"),
    el("p", {}, "Save the edits, then apply them with the commands below. If your browser named the file edits (1).json, use that name."),
    el("pre", {}, commands()),
  );
}

function commands() {
  const { graded, bank, prompt } = review.head;
  const bankOption = bank ? ` --bank ${quoted(bank.name)}` : "";
  const promptOption = prompt.name ? ` --prompt ${quoted(prompt.shown)}` : "";
  const apply = `exam-pp apply ${quoted(graded.name)} edits.json${promptOption}${bankOption} -o corrected.jsonl.gz`;
  return bank ? `${apply}\nexam-pp bank apply ${quoted(bank.name)} edits.json -o edited-bank.jsonl.gz` : apply;
}

function saveState() {
  if (!work.ratings.size && !work.supports.size && !work.document.bank.length) return "No changes yet.";
  if (work.saved) return "Saved.";
  return work.kept ? "Not saved yet, but kept by this browser." : "Not saved yet, and not kept by this browser: save before you close the page.";
}

/** A rating or label with its query and the indexes of its passage and entry; -1 if they are not on this page. */
async function locate(rating) {
  const q = review.head.queries.findIndex((query) => query.id === rating.query_id);
  if (q < 0) return { rating, p: -1, e: -1 };
  const query = await openQuery(q);
  return { rating, query, ...query.placeOf(rating) };
}

/** Whether the text or the entry of a rating has changed, so that it does not count. */
function isOutdated({ rating, query, p, e }) {
  return Boolean(rating.key && query) && (p < 0 || e < 0) && query.ids.includes(rating.passage_id);
}

function passageLink({ rating, query, p, e }) {
  if (isOutdated({ rating, query, p, e })) return `${rating.passage_id} (the text or the entry has changed)`;
  if (p < 0 || e < 0 || !query.asks(p, e)) return `${rating.passage_id} (not on this page)`;
  return el("a", { href: passageAddress(query.index, p, e) }, passageName(query, p));
}

function ratingTable(ratings, refresh) {
  const undo = (rating) => {
    work.ratings.delete(ratingKey(rating));
    workChanged();
    refresh();
  };
  return el(
    "table",
    { class: "list" },
    el("caption", {}, "Ratings"),
    tableHead(["Query", worded("Passage"), "Entry", "Rating", "Comment", ""]),
    el("tbody", {}, ratings.map(({ rating, ...index }) => el(
      "tr",
      {},
      el("td", { dir: "auto" }, queryLink(rating.query_id)),
      el("td", { dir: "auto" }, passageLink({ rating, ...index })),
      el("td", { dir: "auto" }, entryText(rating)),
      el("td", {}, step(rating.rating).label),
      el("td", { dir: "auto" }, rating.comment ?? ""),
      el("td", {}, button("Remove", () => undo(rating), { class: "small" })),
    ))),
  );
}

function labelTable(labels, refresh) {
  const undo = (label) => {
    work.supports.delete(citationKey(label.query_id, label.passage_id, label.citation));
    workChanged();
    refresh();
  };
  return el(
    "table",
    { class: "list" },
    el("caption", {}, "Labels of citations"),
    tableHead(["Query", "Passage", "Citation", "Support", "Comment", ""]),
    el("tbody", {}, labels.map(({ rating: label, query, p }) => el(
      "tr",
      {},
      el("td", { dir: "auto" }, queryLink(label.query_id)),
      el("td", { dir: "auto" }, passageLink({ rating: label, query, p, e: 0 })),
      el("td", { dir: "auto" }, label.citation),
      el("td", {}, supportLabel(label.support)),
      el("td", { dir: "auto" }, label.comment ?? ""),
      el("td", {}, button("Remove", () => undo(label), { class: "small" })),
    ))),
  );
}

function queryLink(queryId) {
  const index = review.head.queries.findIndex((query) => query.id === queryId);
  if (index < 0) return `${queryId} (not on this page)`;
  return el("a", { href: `#/q/${index}` }, review.head.queries[index].text || queryId);
}

function entryText({ query_id: queryId, id }) {
  const query = review.head.queries.find((item) => item.id === queryId);
  return query?.entries.find((entry) => entry.id === id)?.text ?? id;
}

function editTable(edits, refresh) {
  const undo = (edit) => {
    dropBankEdits((item) => item === edit);
    refresh();
  };
  return el(
    "table",
    { class: "list" },
    el("caption", {}, "Changes of the bank"),
    tableHead(["Query", "Change", "Entry", "To", "Reason", ""]),
    el("tbody", {}, edits.map((edit) => el(
      "tr",
      {},
      el("td", { dir: "auto" }, queryLink(edit.query_id)),
      el("td", {}, edit.op.replaceAll("_", " ")),
      el("td", { dir: "auto" }, edit.id ? entryText(edit) : ""),
      el("td", { dir: "auto" }, String(edit.text ?? edit.value ?? "")),
      el("td", { dir: "auto" }, edit.reason ?? ""),
      el("td", {}, button("Undo", () => undo(edit), { class: "small" })),
    ))),
  );
}
