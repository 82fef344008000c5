// The reviewer's decisions: an edits file with games, kept in the browser's local storage until it is saved.

const work = {
  document: null, // the edits without games
  games: new Map(), // id of a game -> game as in the file; its winner is null if it was skipped
  history: [], // [index of a game, the game before a decision or undefined], to undo decisions
  saved: true, // whether the last change is in a downloaded file
  kept: true, // whether local storage works
  damage: "", // why the work in local storage cannot be read
};

const workListeners = [];

function emptyDocument() {
  return { format: FORMAT, reviewer: review.head.reviewer };
}

/** The key contains the reviewer (--reviewer), so that reviewers who share a browser do not see each other's decisions. */
function storageKeys() {
  const { page, reviewer } = review.head;
  return [["exam_pp.games", page, ...(reviewer ? [reviewer] : [])].join(":")];
}

/** Loads the work of an earlier visit, if the browser stored it; some browsers have no local storage for files. */
function startWork() {
  setDocument(emptyDocument());
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
  return !work.saved && work.games.size > 0;
}

function readStored() {
  let text;
  try {
    text = window.localStorage.getItem(storageKeys()[0]);
  } catch {
    work.kept = false;
    return;
  }
  if (text === null) return;
  try {
    const { edits, saved } = JSON.parse(text);
    checkEdits(edits);
    setDocument(edits);
    work.saved = Boolean(saved);
    work.damage = "";
    work.kept = true;
  } catch (error) {
    work.damage = error instanceof SyntaxError ? "It is not JSON." : error.message;
    work.kept = false;
  }
}

function storeWork() {
  if (work.damage) return; // the reviewer decides first
  try {
    window.localStorage.setItem(storageKeys()[0], JSON.stringify({ edits: currentDocument(), saved: work.saved }));
    work.kept = true;
  } catch {
    work.kept = false;
  }
}

function setDocument({ games, ...edits }) {
  work.document = { ...emptyDocument(), ...edits };
  work.games = new Map((games ?? []).map((game) => [game.id, game]));
  work.history = [];
}

function currentDocument() {
  return { ...work.document, games: [...work.games.values()] };
}

function workChanged() {
  work.saved = false;
  storeWork();
  notifyWorkListeners();
}

function notifyWorkListeners() {
  workListeners.forEach((listener) => listener());
}

function saveWork() {
  download(currentDocument());
  work.saved = true;
  storeWork();
  notifyWorkListeners();
  announce("Saved as edits.json");
}

// Decisions

/** The reviewer's decision of a game as it is in the edits file, or undefined. */
function ownGame(n) {
  return work.games.get(review.games[n].id);
}

function decide(n, winner) {
  const { id, query_id } = review.games[n];
  work.history.push([n, ownGame(n)]);
  work.games.set(id, { query_id, id, ...ownGame(n), winner });
  workChanged();
  announce(winner === null ? "Skipped" : `Decided: ${winnerLabel(winner)}`);
}

function removeDecision(n) {
  if (!ownGame(n)) return;
  work.history.push([n, ownGame(n)]);
  work.games.delete(review.games[n].id);
  workChanged();
  announce("Decision removed");
}

/** Takes the last decision back; returns the index of its game, or undefined. */
function undo() {
  const [n, before] = work.history.pop() ?? [];
  if (n === undefined) return undefined;
  if (before) work.games.set(before.id, before);
  else work.games.delete(review.games[n].id);
  workChanged();
  announce("Undone");
  return n;
}

/** Sets the comment of a game; a game without a decision counts as skipped. An empty comment is removed. */
function setComment(n, text) {
  const { id, query_id } = review.games[n];
  const { comment, ...game } = ownGame(n) ?? { query_id, id, winner: null };
  work.games.set(id, text.trim() ? { ...game, comment: text } : game);
  workChanged();
}

/** The numbers of decided and of skipped games of this page. */
function progress() {
  const own = review.games.map((_, n) => ownGame(n)).filter(Boolean);
  const decided = own.filter(({ winner }) => winner !== null).length;
  return { decided, skipped: own.length - decided };
}

/** Checks everything that the page reads, by the rules of `exam-pp apply`; throws an Error. */
function checkEdits(edits) {
  if (edits?.format !== FORMAT) throw new Error(`This is not an edits file: its "format" is not ${FORMAT}.`);
  const games = edits.games;
  if (!Array.isArray(games) || !games.every((game) => game && typeof game === "object")) {
    throw new Error('This is not an edits file of this page: "games" must be a list of objects.');
  }
  if (!isTextOrAbsent(edits.reviewer)) throw new Error('This is not an edits file: "reviewer" must be a text.');
  const ids = new Set();
  games.forEach((game, i) => {
    const name = `Game ${i + 1}`;
    if (![game.query_id, game.id].every(isText)) throw new Error(`${name} needs a "query_id" and an "id" that are texts.`);
    if (!isTextOrAbsent(game.comment)) throw new Error(`${name} has a "comment" that is not a text.`);
    if (!WINNERS.some(([winner]) => winner === game.winner)) throw new Error(`${name} needs a "winner" among A, B, C and null.`);
    if (ids.has(game.id)) throw new Error(`${name} has the "id" of an earlier game.`);
    ids.add(game.id);
  });
}
