// Everything the reviewer did, with a way back from each of it.

async function renderChanges(main) {
  const ratings = await Promise.all([...work.ratings.values()].map(locate));
  if (app.view.name !== "work") return;
  const edits = work.document.bank;
  fill(
    main,
    el("h1", {}, "Your work"),
    el("p", { class: "lead" }, `${count(ratings.length, "rating")} and ${count(edits.length, "change of the bank", "changes of the bank")}. ${savedWords()}`),
    ratings.length > 0 && el("div", { class: "scroll" }, ratingTable(ratings, () => renderChanges(main))),
    edits.length > 0 && el("div", { class: "scroll" }, editTable(edits, () => renderChanges(main))),
    el("h2", {}, "What to do with it"),
    el("p", {}, "Save the edits, then add the ratings to the graded file, and the changes to the bank. A browser that has saved before may name the new file edits (1).json."),
    el("pre", {}, commands()),
  );
}

function commands() {
  const { graded, bank, prompt } = review.head;
  const ofBank = bank ? ` --bank ${quoted(bank.name)}` : "";
  const apply = `exam-pp apply-edits ${quoted(graded.name)} edits.json --prompt-class ${quoted(prompt.name)}${ofBank} -o with-people.jsonl.gz`;
  return bank ? `${apply}\nexam-pp bank apply ${quoted(bank.name)} edits.json -o better-bank.jsonl.gz` : apply;
}

/** A word as a shell takes it. */
function quoted(word) {
  return /^[\w.@%+=:,/-]+$/u.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function savedWords() {
  if (!work.ratings.size && !work.document.bank.length) return "Nothing to save.";
  if (work.saved) return "Saved.";
  return work.kept ? "Not saved yet, but kept by this browser." : "Not saved yet, and this browser keeps nothing: save before you leave.";
}

/** A rating with the places of its query, passage and entry; -1 is not on this page. */
async function locate(rating) {
  const q = review.head.queries.findIndex((query) => query.id === rating.query_id);
  if (q < 0) return { rating, p: -1, e: -1 };
  const query = await openQuery(q);
  return { rating, query, p: query.ids.indexOf(rating.passage_id), e: query.entries.findIndex((entry) => entry.id === rating.id) };
}

function passageLink({ rating, query, p, e }) {
  if (p < 0 || e < 0) return `${rating.passage_id} (not on this page)`;
  return el("a", { href: passageAddress(query.place, p, e) }, passageName(query, p));
}

function ratingTable(ratings, refresh) {
  const undo = (rating) => {
    work.ratings.delete(pairKey(rating.query_id, rating.passage_id, rating.id));
    workChanged();
    refresh();
  };
  return el(
    "table",
    { class: "list" },
    el("caption", {}, "Ratings"),
    tableHead(["Query", "Passage", "Entry", "Rating", "Comment", ""]),
    el("tbody", {}, ratings.map(({ rating, ...place }) => el(
      "tr",
      {},
      el("td", { dir: "auto" }, queryLink(rating.query_id)),
      el("td", { dir: "auto" }, passageLink({ rating, ...place })),
      el("td", { dir: "auto" }, entryWords(rating)),
      el("td", {}, step(rating.rating).label),
      el("td", { dir: "auto" }, rating.comment ?? ""),
      el("td", {}, button("Remove", () => undo(rating), { class: "small" })),
    ))),
  );
}

function queryLink(queryId) {
  const place = review.head.queries.findIndex((query) => query.id === queryId);
  if (place < 0) return `${queryId} (not on this page)`;
  return el("a", { href: `#/q/${place}` }, review.head.queries[place].text || queryId);
}

function entryWords({ query_id: queryId, id }) {
  const query = review.head.queries.find((one) => one.id === queryId);
  return query?.entries.find((entry) => entry.id === id)?.text ?? id;
}

function editTable(edits, refresh) {
  const undo = (edit) => {
    dropBankEdits((other) => other === edit);
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
      el("td", { dir: "auto" }, edit.id ? entryWords(edit) : ""),
      el("td", { dir: "auto" }, String(edit.text ?? edit.value ?? "")),
      el("td", { dir: "auto" }, edit.reason ?? ""),
      el("td", {}, button("Undo", () => undo(edit), { class: "small" })),
    ))),
  );
}
