// The bank entries of a query: texts, coverage, and the reviewer's changes.

/** The list of entries; `refresh` redraws the page after a change. */
function entryPanel(query, refresh) {
  // With direct grades the entry is the passage as a whole, which cannot be edited.
  const editable = Boolean(review.head.bank) && query.entries.every((entry) => entry.kind);
  return el(
    "details",
    { class: "panel entries", open: app.entriesOpen, ontoggle: (event) => { app.entriesOpen = event.target.open; } },
    el("summary", {}, `${count(query.entries.length, "bank entry", "bank entries")}`),
    el("ol", {}, query.entries.map((entry, e) => entryItem(query, e, editable, refresh))),
    addedEntries(query.id).map((edit) =>
      el(
        "p",
        { class: "added" },
        el("span", { class: "chip own" }, "added"),
        el("span", { dir: "auto" }, ` ${edit.text} `),
        button("Undo", () => { dropBankEdits((item) => item === edit); refresh(); }, { class: "small" }),
      ),
    ),
    editable && el("p", {}, button("Add an entry …", () => addEntry(query, refresh), { class: "small" })),
  );
}

function entryItem(query, e, editable, refresh) {
  const entry = editedEntry(query.id, query.entries[e]);
  const original = query.entries[e];
  const name = `entry ${e + 1}`;
  return el(
    "li",
    { class: entry.removed ? "removed" : null },
    el(
      "span",
      { class: "entry-text" },
      el("span", { dir: "auto" }, entry.text),
      entry.text !== original.text && [" ", el("del", { class: "faint", dir: "auto" }, original.text)],
    ),
    el("span", { class: "chips" }, entryChips(query, e, entry)),
    editable &&
      el(
        "span",
        { class: "tools" },
        served.entryTools?.(query, e),
        // A removed entry cannot be edited: `exam-pp bank apply` would refuse the edits.
        !entry.removed && button("✎", () => editEntry(query, e, refresh), { class: "small", title: "Edit", "aria-label": `Edit ${name}`, "data-focus": `edit-${e}` }),
        entry.removed
          ? button("↶", () => { dropBankEdits((edit) => edit.op === "remove" && edit.query_id === query.id && edit.id === original.id); refresh(); }, { class: "small", title: "Restore", "aria-label": `Restore ${name}` })
          : button("✕", () => removeEntry(query, e, refresh), { class: "small", title: "Remove", "aria-label": `Remove ${name}`, "data-focus": `remove-${e}` }),
      ),
  );
}

function entryChips(query, e, entry) {
  const covered = coveredPassages(query, e);
  return [
    entry.removed && el("span", { class: "chip own" }, "removed"),
    entry.edited && !entry.removed && el("span", { class: "chip own" }, "changed"),
    entry.facet && el("span", { class: "chip" }, `facet ${entry.facet}`),
    entry.importance && el("span", { class: "chip" }, entry.importance),
    ...worthChips(entry),
    entry.golds.length > 0 && el("span", { class: "chip", title: entry.golds.join("\n") }, count(entry.golds.length, "gold answer")),
    covered !== null && el("span", { class: "faint", title: worded(`${avoids(entry) ? "Made" : "Covered"} by ${covered} of ${query.size} passages`) }, `${covered} / ${query.size}`),
  ];
}

function coveredPassages(query, e) {
  if (review.head.blind || !review.head.graders.length) return null;
  let covered = 0;
  for (let p = 0; p < query.size; p++) {
    const rating = countedRating(query, p, e);
    if (rating !== null && rating >= review.head.min_grade) covered++;
  }
  return covered;
}

async function editEntry(query, e, refresh) {
  const original = query.entries[e];
  if (review.head.live) return served.draft(query, { op: "reword", id: original.id });
  const now = editedEntry(query.id, original);
  const text = el("textarea", { rows: 3, required: true, dir: "auto" }, now.text);
  const importance = el("select", {}, [...(original.importance ? [] : [""]), "vital", "okay"].map((value) => el("option", { value, selected: (now.importance ?? "") === value }, value || "not set")));
  const weight = el("input", { type: "number", step: "any", value: now.weight ?? 1 });
  const gold = el("input", { type: "text", dir: "auto" });
  const reason = reasonField(query.id, original.id);
  const content = [
    field("Text", text),
    field("Importance", importance),
    field("Weight (below 0: to avoid)", weight),
    original.kind === "question" && field("Additional gold answer (optional)", gold),
    field("Reason (optional)", reason),
  ];
  if (!(await ask(`Entry ${e + 1}`, content, "Apply", { check: () => isNew(query, text, original) }))) return;
  const base = { query_id: query.id, id: original.id };
  const change = (op, differs, values) => {
    if (differs) setBankEdit({ op, ...base, ...values, ...reasonOf(reason) });
    else dropBankEdits((edit) => edit.op === op && edit.query_id === query.id && edit.id === original.id);
  };
  change("reword", text.value.trim() !== original.text, { text: text.value.trim() });
  change("importance", importance.value && importance.value !== original.importance, { value: importance.value });
  change("weight", weight.value !== "" && Number(weight.value) !== (original.weight ?? 1), { value: Number(weight.value) });
  if (gold.value.trim()) setBankEdit({ op: "add_gold_answer", ...base, value: gold.value.trim(), ...reasonOf(reason) });
  refresh();
}

function reasonField(queryId, entryId) {
  const known = bankEditsOf(queryId, entryId).find((edit) => edit.reason);
  return el("input", { type: "text", value: known?.reason ?? "", dir: "auto" });
}

function reasonOf(reason) {
  return reason.value.trim() ? { reason: reason.value.trim() } : {};
}

async function removeEntry(query, e, refresh) {
  const entry = query.entries[e];
  if (review.head.live) return served.draft(query, { op: "remove", id: entry.id });
  const reason = reasonField(query.id, entry.id);
  const content = [el("p", { dir: "auto" }, entry.text), field("Reason (optional)", reason)];
  if (!(await ask(`Remove entry ${e + 1}?`, content, "Remove"))) return;
  setBankEdit({ op: "remove", query_id: query.id, id: entry.id, ...reasonOf(reason) });
  refresh();
}

async function addEntry(query, refresh) {
  if (review.head.live) return served.draft(query, { op: "add" });
  const text = el("textarea", { rows: 3, required: true, dir: "auto" });
  const facets = [...new Set(query.entries.map((entry) => entry.facet).filter(Boolean))];
  const facet = el("select", {}, facets.map((value) => el("option", { value }, value)));
  const kind = el("select", {}, review.head.kinds.map((value) => el("option", { value }, value)));
  const reason = el("input", { type: "text", dir: "auto" });
  const content = [
    field("Text", text),
    facets.length > 0 && field("Facet", facet),
    review.head.kinds.length > 1 && field("Kind", kind),
    field("Reason (optional)", reason),
  ];
  if (!(await ask("Add an entry", content, "Add", { check: () => isNew(query, text, null) }))) return;
  const edit = { op: "add", query_id: query.id, text: text.value.trim(), ...reasonOf(reason) };
  if (facets.length) edit.facet_id = facet.value;
  if (review.head.kinds.length > 1) edit.kind = kind.value;
  setBankEdit(edit);
  refresh();
}

/** Validates that a text is not empty and differs from all other entries, because texts in a bank are unique. */
function isNew(query, text, original) {
  const normalized = (value) => value.toLowerCase().replace(/\s+/gu, " ").trim().replace(/[ .?!;:,]+$/u, "");
  const others = query.entries
    .filter((entry) => entry !== original)
    .map((entry) => editedEntry(query.id, entry))
    .filter((entry) => !entry.removed)
    .concat(addedEntries(query.id));
  const duplicate = others.some((entry) => normalized(entry.text) === normalized(text.value));
  text.setCustomValidity(duplicate ? "The bank already has an entry with this text." : "");
  text.addEventListener("input", () => text.setCustomValidity(""), { once: true });
  if (!text.value.trim()) text.setCustomValidity("The text is empty.");
  return text.reportValidity();
}
