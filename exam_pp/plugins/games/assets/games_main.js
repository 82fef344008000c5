// Start of the page of games, addresses, header, decisions, and loading.

const app = {
  view: { name: "game", n: 0 },
  screen: null, // the current view, to redraw it
  shortcuts: true,
  advance: true,
  passagesOpen: true,
};

// Addresses: #/g/3 is a game, #/work the reviewer's decisions; all others are the first game without a decision.

function readAddress() {
  const [name, number] = window.location.hash.replace(/^#\/?/u, "").split("/");
  if (name === "work") return { name };
  const n = name === "g" ? Number(number) : Number.NaN;
  if (Number.isInteger(n) && n >= 0 && n < review.games.length) return { name: "game", n };
  return { name: "game", n: nextOpen(-1) ?? 0 };
}

/** The next game without a decision, from the beginning again after the last one; undefined if there is none. */
function nextOpen(n) {
  const after = review.games.map((_, i) => (n + 1 + i) % review.games.length);
  return after.find((i) => i !== n && !ownGame(i));
}

function goTo(n) {
  if (n === undefined || n < 0 || n >= review.games.length) return false;
  app.screen = null; // until the other game is drawn, no key decides a game that the reviewer does not see
  window.location.hash = `#/g/${n}`;
  return true;
}

/** Decides the shown game, or removes the decision if it is the same, and goes to the next open game. */
function chooseWinner(winner) {
  const { n } = app.view;
  if (!app.screen) return;
  if (ownGame(n)?.winner === winner && winner !== null) removeDecision(n);
  else {
    decide(n, winner);
    const next = nextOpen(n);
    if (app.advance && next !== undefined) {
      goTo(next);
      return;
    }
    if (next === undefined) announce("No game is left without a decision. Save the edits.");
  }
  app.screen.refresh();
}

function undoLast() {
  if (!app.screen) return false;
  const n = undo();
  if (n === undefined) return false;
  if (n === app.view.n) app.screen.refresh();
  else goTo(n);
  return true;
}

async function render() {
  app.screen = null;
  drawHeader();
  const main = document.getElementById("main");
  main.setAttribute("aria-busy", "true");
  if (app.view.name === "work") renderDecisions(main);
  else await renderGame(main, app.view.n);
  main.removeAttribute("aria-busy");
}

// The header

function drawHeader() {
  redraw(document.getElementById("header"), () => [
    el("a", { href: "#/", class: "brand" }, "exam-pp review-games"),
    el("span", { class: "push" }),
    reviewerField(),
    el("a", { href: "#/work", id: "status", class: "status" }, ""),
    button("Save edits", askAndSave, { class: "primary", id: "save", "data-focus": "save" }),
    loadButton(),
    themeButton(),
    button("?", showKeys, { "data-focus": "keys", title: "Keys and settings", "aria-label": "Keys and settings" }),
  ]);
  drawStatus();
}

function drawStatus() {
  const { decided, skipped } = progress();
  const status = document.getElementById("status");
  const dirty = hasUnsavedWork();
  const state = !dirty ? "saved" : work.kept ? "not saved" : "not saved, not kept";
  status.textContent = work.games.size ? `${decided} of ${review.games.length} decided${skipped ? `, ${skipped} skipped` : ""}: ${state}` : "no decisions yet";
  status.title = saveState();
  status.classList.toggle("dirty", dirty);
  document.title = `${dirty ? "• " : ""}exam-pp review-games`;
}

const NAME_NOTE = "Your decisions become games under this name.";

// Loading

async function loadFile(input) {
  const [file] = input.files;
  input.value = "";
  if (!file) return;
  try {
    const edits = parseEdits(await file.text());
    if (!(await confirmLoading(edits))) return;
    setDocument(edits);
    work.saved = true;
    storeWork();
    notifyWorkListeners();
    await render();
    announce(`Loaded ${count(edits.games.length, "game")}`);
  } catch (error) {
    await ask("This file cannot be used", [el("p", {}, error.message)], null);
  }
}

/** Asks before unsaved work is replaced, and before games of another page are loaded. */
async function confirmLoading(edits) {
  const warnings = [];
  const known = new Set(review.games.map(({ id }) => id));
  const unknown = edits.games.filter(({ id }) => !known.has(id)).length;
  if (unknown) warnings.push(`${count(unknown, "game is", "games are")} not on this page; they are kept in the file.`);
  if (hasUnsavedWork()) warnings.push("Your unsaved work on this page will be replaced.");
  return !warnings.length || ask("Load these edits?", warnings.map((warning) => el("p", {}, warning)), "Load");
}

// Start

async function start() {
  setTheme(storedTheme());
  if (typeof DecompressionStream === "undefined") {
    document.getElementById("main").replaceChildren(el("p", { class: "notice" }, "This page needs a browser of 2023 or later."));
    return;
  }
  await unpackHead();
  startWork();
  startKeys();
  workListeners.push(drawStatus);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the hash of the address names a view
    document.getElementById("main").focus();
  });
  window.addEventListener("hashchange", () => {
    app.view = readAddress();
    render();
    window.scrollTo(0, 0);
    document.getElementById("main").focus({ preventScroll: true });
  });
  app.view = readAddress();
  await render();
  document.documentElement.dataset.ready = "true";
  if (work.damage) await offerReset();
}

whenShown(start);
