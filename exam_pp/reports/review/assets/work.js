// The reviewer's work: an edits file (format exam_pp.edits.v1), kept by the browser until it is saved.

const FORMAT = "exam_pp.edits.v1";

const work = {
  document: null, // what will be saved, ratings apart
  ratings: new Map(), // key of a pair -> rating as in the file
  removed: new Map(), // the same, of ratings that were removed: their comments come back with a new rating
  saved: true, // whether the last change is in a downloaded file
  kept: true, // whether this browser keeps the work between visits
};

const workListeners = [];

function emptyDocument() {
  const { graded, bank, reviewer } = review.head;
  return {
    format: FORMAT,
    graded_sha256: graded.sha256,
    bank_sha256: bank ? bank.sha256 : null,
    reviewer,
    ratings: [],
    bank: [],
  };
}

/** Pages for different people (--reviewer) keep apart in one browser: nobody sees another's ratings before their own. */
function storageKey() {
  const { graded, prompt, reviewer } = review.head;
  return ["exam_pp.review", graded.sha256, prompt.name, ...(reviewer ? [reviewer] : [])].join(":");
}

/** Changes are of one state of a bank: once they are applied, a page of the new bank does not offer them again. */
function bankStorageKey() {
  return `${storageKey()}:${review.head.bank?.sha256 ?? ""}`;
}

/** What the browser has of an earlier visit; some browsers keep nothing for files from disk. */
function startWork() {
  takeDocument(emptyDocument());
  readKept();
  window.addEventListener("storage", (event) => {
    if ([storageKey(), bankStorageKey()].includes(event.key) && event.newValue) {
      readKept();
      tellWorkListeners();
      if (!document.activeElement?.closest("textarea, input, dialog")) render(); // nobody is writing
    }
  });
  window.addEventListener("beforeunload", (event) => {
    if (hasUnsavedWork() && !work.kept) event.preventDefault();
  });
}

function hasUnsavedWork() {
  return !work.saved && (work.ratings.size > 0 || work.document.bank.length > 0);
}

function readKept() {
  try {
    const text = window.localStorage.getItem(storageKey());
    if (text === null) return;
    const { edits, saved } = JSON.parse(text);
    const ofBank = JSON.parse(window.localStorage.getItem(bankStorageKey()) ?? '{ "bank": [], "saved": true }');
    takeDocument({ ...edits, bank: ofBank.bank });
    work.saved = saved && ofBank.saved;
  } catch {
    work.kept = false;
  }
}

function keep() {
  try {
    const { bank, ...edits } = currentDocument();
    window.localStorage.setItem(bankStorageKey(), JSON.stringify({ bank, saved: work.saved }));
    window.localStorage.setItem(storageKey(), JSON.stringify({ edits, saved: work.saved }));
    work.kept = true;
  } catch {
    work.kept = false;
  }
}

/** Takes edits over: from now on they are edits of the files that this page shows. */
function takeDocument(edits) {
  const { graded_sha256, bank_sha256 } = emptyDocument();
  work.document = { ...emptyDocument(), ...edits, graded_sha256, bank_sha256, bank: [...(edits.bank ?? [])] };
  work.ratings = new Map((edits.ratings ?? []).map((rating) => [pairKey(rating.query_id, rating.passage_id, rating.id), rating]));
}

function currentDocument() {
  return { ...work.document, ratings: [...work.ratings.values()] };
}

function workChanged() {
  work.saved = false;
  keep();
  tellWorkListeners();
}

function tellWorkListeners() {
  workListeners.forEach((listener) => listener());
}

function pairKey(queryId, passageId, entryId) {
  return JSON.stringify([queryId, passageId, entryId]);
}

// Ratings

/** The reviewer's rating of a pair, as the file has it, or undefined. */
function ownRating(query, p, e) {
  if (!query.entries.length) return undefined; // a query that nobody asks anything about
  return work.ratings.get(pairKey(query.id, query.ids[p], query.entries[e].id));
}

function setRating(query, p, e, rating) {
  const known = ownRating(query, p, e);
  const pair = { query_id: query.id, passage_id: query.ids[p], id: query.entries[e].id };
  const key = pairKey(query.id, query.ids[p], query.entries[e].id);
  work.ratings.set(key, { ...pair, ...(known ?? work.removed.get(key)), rating });
  workChanged();
  announce(`Rated ${step(rating).label}`);
}

function removeRating(query, p, e) {
  const key = pairKey(query.id, query.ids[p], query.entries[e].id);
  if (work.ratings.has(key)) {
    work.removed.set(key, work.ratings.get(key));
    work.ratings.delete(key);
    workChanged();
    announce("Rating removed");
  }
}

/** A comment belongs to a rating; an empty one is removed. */
function setComment(query, p, e, text) {
  const known = ownRating(query, p, e);
  if (!known) return;
  if (text.trim()) known.comment = text;
  else delete known.comment;
  workChanged();
}

function ownRatingsOf(queryId) {
  return [...work.ratings.values()].filter((rating) => rating.query_id === queryId);
}

// The bank

/** One change of an entry takes the place of an earlier change of the same kind. */
function setBankEdit(edit) {
  const edits = work.document.bank;
  const same = (other) => other.op === edit.op && other.query_id === edit.query_id && other.id === edit.id;
  const place = edit.op === "add" || edit.op === "add_gold_answer" ? -1 : edits.findIndex(same);
  if (place < 0) edits.push(edit);
  else edits[place] = edit;
  workChanged();
}

function dropBankEdits(drop) {
  const left = work.document.bank.filter((edit) => !drop(edit));
  if (left.length === work.document.bank.length) return;
  work.document.bank = left;
  workChanged();
}

function bankEditsOf(queryId, entryId) {
  return work.document.bank.filter((edit) => edit.query_id === queryId && edit.id === entryId);
}

/** An entry as the edits leave it. */
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
  const text = `${JSON.stringify(currentDocument(), null, 1)}\n`;
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = el("a", { href: address, download: "edits.json" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  work.saved = true;
  keep();
  tellWorkListeners();
  announce("Saved as edits.json");
}

/** The edits in a text; throws an Error with a sentence for the reviewer. */
function parseEdits(text) {
  let edits;
  try {
    edits = JSON.parse(text);
  } catch {
    throw new Error("This is no edits file: it is not JSON.");
  }
  if (edits?.format !== FORMAT) throw new Error(`This is no edits file: its "format" is not ${FORMAT}.`);
  const lists = [edits.ratings ?? [], edits.bank ?? []];
  if (!lists.every((list) => Array.isArray(list) && list.every((item) => item && typeof item === "object"))) {
    throw new Error("This is no edits file: its ratings or its changes of the bank are no lists.");
  }
  const known = new Set(review.head.scale.map(([rating]) => rating));
  const odd = lists[0].find((rating) => !known.has(rating.rating));
  if (odd) throw new Error(`The rating ${JSON.stringify(odd.rating)} is not on the scale of this page.`);
  return edits;
}
