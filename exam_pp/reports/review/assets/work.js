// The reviewer's work: an edits file (format exam_pp.edits.v1), kept in the browser's local storage until it is saved.

const work = {
  document: null, // the edits without ratings and labels of citations
  ratings: new Map(), // key of a pair -> rating as in the file
  supports: new Map(), // key of a citation -> label as in the file
  removed: new Map(), // removed ratings and labels, because their comments come back with a new one
  saved: true, // whether the last change is in a downloaded file
  kept: true, // whether local storage works
  damage: "", // why the work in local storage cannot be read
};

const workListeners = [];

function emptyDocument() {
  const { graded, bank, reviewer, cutoff } = review.head;
  return {
    format: FORMAT,
    graded_sha256: graded.sha256,
    bank_sha256: bank ? bank.sha256 : null,
    cutoff,
    reviewer,
    ratings: [],
    bank: [],
  };
}

/** The key contains the reviewer (--reviewer), so that reviewers who share a browser do not see each other's ratings. */
function storageKey() {
  const { graded, prompt, reviewer } = review.head;
  return ["exam_pp.review", graded.sha256, prompt.name, ...(reviewer ? [reviewer] : [])].join(":");
}

/** The key contains the digest of the bank, so that applied changes do not reappear on a page of the changed bank. */
function bankStorageKey() {
  return `${storageKey()}:${review.head.bank?.sha256 ?? ""}`;
}

function storageKeys() {
  return [storageKey(), bankStorageKey()];
}

/** Loads the work of an earlier visit, if the browser stored it; some browsers have no local storage for files. */
async function startWork() {
  setDocument(emptyDocument());
  if (review.head.live) {
    await served.start();
    return;
  }
  readStored();
  window.addEventListener("storage", (event) => {
    if (storageKeys().includes(event.key) && event.newValue) {
      readStored();
      notifyWorkListeners();
      if (!document.activeElement?.closest("textarea, input, dialog")) render(); // do not disturb typing
    }
  });
  window.addEventListener("beforeunload", (event) => {
    if (hasUnsavedWork() && !work.kept) event.preventDefault();
  });
}

function hasUnsavedWork() {
  return !work.saved && (work.ratings.size > 0 || work.supports.size > 0 || work.document.bank.length > 0);
}

function readStored() {
  let text, bank;
  try {
    text = window.localStorage.getItem(storageKey());
    bank = window.localStorage.getItem(bankStorageKey());
  } catch {
    work.kept = false;
    return;
  }
  if (text === null) return;
  try {
    const { edits, saved } = JSON.parse(text);
    const storedBank = JSON.parse(bank ?? '{ "bank": [], "saved": true }');
    const stored = { ...edits, bank: storedBank.bank };
    checkEdits(stored);
    setDocument(stored);
    work.saved = Boolean(saved && storedBank.saved);
    work.damage = "";
    work.kept = true;
  } catch (error) {
    work.damage = error instanceof SyntaxError ? "It is not JSON." : error.message;
    work.kept = false;
  }
}

function storeWork() {
  if (work.damage || review.head.live) return; // the reviewer decides first; a served page sends its work
  try {
    const { bank, ...edits } = currentDocument();
    window.localStorage.setItem(bankStorageKey(), JSON.stringify({ bank, saved: work.saved }));
    window.localStorage.setItem(storageKey(), JSON.stringify({ edits, saved: work.saved }));
    work.kept = true;
  } catch {
    work.kept = false;
  }
}

/** Replaces the work by these edits, with the digests and the cutoff of what this page shows. */
function setDocument(edits) {
  const { graded_sha256, bank_sha256, cutoff } = emptyDocument();
  const shown = { graded_sha256, bank_sha256, cutoff };
  work.document = { ...emptyDocument(), ...edits, ...shown, bank: [...(edits.bank ?? [])] };
  work.ratings = new Map((edits.ratings ?? []).map((rating) => [ratingKey(rating), rating]));
  work.supports = new Map((edits.supports ?? []).map((label) => [citationKey(label.query_id, label.passage_id, label.citation), label]));
}

/** The edits file; files without labels of citations have no "supports", as those of earlier versions. */
function currentDocument() {
  const { supports, ...edits } = work.document;
  const current = { ...edits, ratings: [...work.ratings.values()] };
  return work.supports.size ? { ...current, supports: [...work.supports.values()] } : current;
}

/** Keeps the work after a change, which a served page sends. */
function workChanged(change = null) {
  if (review.head.live && change) served.send(change);
  work.saved = false;
  storeWork();
  notifyWorkListeners();
}

function notifyWorkListeners() {
  workListeners.forEach((listener) => listener());
}

function pairKey(queryId, passageId, entryId) {
  return JSON.stringify([queryId, passageId, entryId]);
}

/** Ratings belong to texts, so that one counts for all pairs of the same content; those of sampled pairs, and of edits without keys, belong to ids. */
function ratingKey({ query_id: queryId, passage_id: passageId, id, key }) {
  return key && !isSample() ? key : pairKey(queryId, passageId, id);
}

function citationKey(queryId, passageId, citation) {
  return JSON.stringify([queryId, passageId, "citation", citation]);
}

/** The reviewer's work in numbers, such as "3 ratings, 2 labels of citations and 1 change of the bank". */
function countedWork() {
  const labels = work.supports.size ? `, ${count(work.supports.size, "label")} of citations` : "";
  return `${count(work.ratings.size, "rating")}${labels} and ${count(work.document.bank.length, "change of the bank", "changes of the bank")}`;
}

// Ratings

/** The reviewer's rating of a pair as it is in the edits file, or undefined. */
function ownRating(query, p, e) {
  if (!query.entries.length) return undefined; // the query has no bank entries
  const pair = query.pair(p, e);
  return work.ratings.get(ratingKey(pair)) ?? work.ratings.get(ratingKey({ ...pair, key: null }));
}

function setRating(query, p, e, rating) {
  const known = ownRating(query, p, e);
  const pair = query.pair(p, e);
  const key = ratingKey(pair);
  if (known && ratingKey(known) !== key) work.ratings.delete(ratingKey(known));
  const now = { ...pair, ...(known ?? work.removed.get(key)), rating };
  work.ratings.set(key, now);
  workChanged({ op: "rate", ...now });
  announce(`Rated ${ratingLabel(query.entries[e], rating)}`);
}

function removeRating(query, p, e) {
  const known = ownRating(query, p, e);
  if (known) {
    work.removed.set(ratingKey(query.pair(p, e)), known);
    work.ratings.delete(ratingKey(known));
    workChanged({ op: "unrate", ...query.pair(p, e) });
    announce("Rating removed");
  }
}

/** Sets the comment of a rated pair; an empty comment is removed. */
function setComment(query, p, e, text) {
  const known = ownRating(query, p, e);
  if (!known) return;
  if (text.trim()) known.comment = text;
  else delete known.comment;
  workChanged({ op: "rate", ...known });
}

/** Whether the page asks only about a sample of pairs. */
function isSample() {
  return review.head.queries.some((query) => query.asked);
}

/** The number of pairs that the page asks about, of a query in the head. */
function askedPairs(query) {
  return query.asked ? Object.values(query.asked).flat().length : query.passages * query.entries.length;
}

/** The number of these pairs that the reviewer has rated; without a sample, of all rated pairs of the query. */
function askedRatings(query) {
  const rated = [...work.ratings.values()].filter((rating) => rating.query_id === query.id);
  return query.asked ? rated.filter((rating) => isAsked(query, rating)).length : rated.length;
}

function isAsked(query, { passage_id: passageId, id }) {
  const e = query.entries.findIndex((entry) => entry.id === id);
  return e >= 0 && (!query.asked || (Object.hasOwn(query.asked, passageId) && query.asked[passageId].includes(e)));
}

// Labels of citations

/** The reviewer's label of a citation as it is in the edits file, or undefined. */
function ownSupport(query, p, citation) {
  return work.supports.get(citationKey(query.id, query.ids[p], citation));
}

/** Labels a citation; null removes the label. */
function setSupport(query, p, citation, support) {
  const key = citationKey(query.id, query.ids[p], citation);
  const known = work.supports.get(key);
  if (support === null) {
    work.removed.set(key, known);
    work.supports.delete(key);
  } else {
    const place = { query_id: query.id, passage_id: query.ids[p], citation };
    work.supports.set(key, { ...place, ...(known ?? work.removed.get(key)), support });
  }
  workChanged();
  announce(support === null ? "Label removed" : `Labelled ${supportLabel(support)}`);
}

/** Sets the comment of a labelled citation; an empty comment is removed. */
function setSupportComment(query, p, citation, text) {
  const known = ownSupport(query, p, citation);
  if (!known) return;
  if (text.trim()) known.comment = text;
  else delete known.comment;
  workChanged();
}

// The bank

/** Adds a change of an entry; it replaces an earlier change with the same op, except for added gold answers. */
function setBankEdit(edit) {
  const edits = work.document.bank;
  const same = (earlier) => earlier.op === edit.op && earlier.query_id === edit.query_id && earlier.id === edit.id;
  const index = edit.op === "add" || edit.op === "add_gold_answer" ? -1 : edits.findIndex(same);
  if (index < 0) edits.push(edit);
  else edits[index] = edit;
  workChanged();
}

function dropBankEdits(drop) {
  const remaining = work.document.bank.filter((edit) => !drop(edit));
  if (remaining.length === work.document.bank.length) return;
  work.document.bank = remaining;
  workChanged();
}

function bankEditsOf(queryId, entryId) {
  return work.document.bank.filter((edit) => edit.query_id === queryId && edit.id === entryId);
}

/** An entry with the edits applied. */
function editedEntry(queryId, entry) {
  const state = { ...entry, golds: [...(entry.golds ?? [])], removed: false, edited: false };
  for (const edit of bankEditsOf(queryId, entry.id)) {
    state.edited = true;
    if (edit.op === "remove") state.removed = true;
    else if (edit.op === "reword") state.text = edit.text;
    else if (edit.op === "add_gold_answer") state.golds.push(edit.value);
    else state[edit.op] = edit.value;
  }
  return state;
}

function addedEntries(queryId) {
  return work.document.bank.filter((edit) => edit.op === "add" && edit.query_id === queryId);
}

// Files

function saveWork() {
  download(currentDocument());
  work.saved = true;
  storeWork();
  notifyWorkListeners();
  announce("Saved as edits.json");
}

/** What each change of the bank needs besides a query_id and, unless it adds an entry, an id. */
const BANK_OPS = {
  add: [(edit) => isFilled(edit.text), 'a "text" that is not empty'],
  reword: [(edit) => isFilled(edit.text), 'a "text" that is not empty'],
  remove: [() => true, ""],
  weight: [({ value }) => Number.isFinite(value), 'a "value" that is a number'],
  importance: [({ value }) => value === "vital" || value === "okay", 'the "value" vital or okay'],
  add_gold_answer: [(edit) => isFilled(edit.value), 'a "value" that is a text and not empty'],
};

/** Checks everything that the page reads, by the rules of `exam-pp apply` and `exam-pp bank apply`; throws an Error. */
function checkEdits(edits) {
  if (edits?.format !== FORMAT) throw new Error(`This is not an edits file: its "format" is not ${FORMAT}.`);
  const lists = [edits.ratings ?? [], edits.supports ?? [], edits.bank ?? []];
  if (!lists.every((list) => Array.isArray(list) && list.every((item) => item && typeof item === "object"))) {
    throw new Error('This is not an edits file: "ratings", "supports" and "bank" must be lists of objects.');
  }
  if (![edits.reviewer, edits.graded_sha256, edits.bank_sha256].every(isTextOrAbsent)) {
    throw new Error('This is not an edits file: "reviewer", "graded_sha256" and "bank_sha256" must be texts.');
  }
  lists[0].forEach((rating, i) => checkRating(rating, `Rating ${i + 1}`));
  lists[1].forEach((label, i) => checkSupport(label, `Label ${i + 1}`));
  lists[2].forEach((edit, i) => checkBankEdit(edit, `Change ${i + 1} of the bank`));
}

function checkRating(rating, name) {
  if (![rating.query_id, rating.passage_id, rating.id].every(isText)) {
    throw new Error(`${name} needs a "query_id", a "passage_id" and an "id" that are texts.`);
  }
  for (const field of ["comment", "key"]) {
    if (!isTextOrAbsent(rating[field])) throw new Error(`${name} has a "${field}" that is not a text.`);
  }
  if (!review.head.scale.some(([known]) => known === rating.rating)) {
    throw new Error(`The rating ${JSON.stringify(rating.rating)} is not on the scale of this page.`);
  }
}

function checkSupport(label, name) {
  if (![label.query_id, label.passage_id, label.citation].every(isText)) {
    throw new Error(`${name} needs a "query_id", a "passage_id" and a "citation" that are texts.`);
  }
  if (!isTextOrAbsent(label.comment)) throw new Error(`${name} has a "comment" that is not a text.`);
  if (!SUPPORTS.some(([known]) => known === label.support)) {
    throw new Error(`${name} needs a "support" among ${SUPPORTS.map(([known]) => known).join(", ")}.`);
  }
}

function checkBankEdit(edit, name) {
  if (!Object.hasOwn(BANK_OPS, edit.op)) throw new Error(`${name} needs an "op" among ${Object.keys(BANK_OPS).join(", ")}.`);
  if (!isText(edit.query_id)) throw new Error(`${name} needs a "query_id" that is a text.`);
  if (!(isText(edit.id) || (edit.op === "add" && isAbsent(edit.id)))) throw new Error(`${name} needs an "id" that is a text.`);
  const [isComplete, needed] = BANK_OPS[edit.op];
  if (!isComplete(edit)) throw new Error(`${name} (${edit.op}) needs ${needed}.`);
  if (![edit.text, edit.reason, edit.facet_id].every(isTextOrAbsent)) {
    throw new Error(`${name} has a "text", "reason" or "facet_id" that is not a text.`);
  }
  if (!(isAbsent(edit.kind) || ["question", "nugget"].includes(edit.kind))) throw new Error(`${name} has a "kind" that is not question or nugget.`);
}
