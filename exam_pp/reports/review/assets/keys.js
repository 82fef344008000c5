// Keyboard shortcuts.

const KEYS = [
  ["f", "go to the fair sample (if it is not a key of the scale)"],
  ["j, k", "next, previous passage (on the overview: query; in the fair sample: pair)"],
  ["l, h or →, ←", "next, previous entry"],
  ["Enter", "open the selected query or passage"],
  ["u or Esc", "go up: from passage to query to overview"],
  ["a", "agree: give the same rating as the shown grader"],
  ["x", "remove your rating"],
  ["c", "comment"],
  ["/", "search"],
  ["s or Ctrl+S", "save the edits (s only if it is not a key of the scale)"],
  ["?", "show these keys"],
];

function startKeys() {
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
      event.preventDefault();
      askAndSave();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || !app.shortcuts) return;
    if (document.getElementById("dialog").open) return;
    if (event.target.closest("input, textarea, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (pressed(event)) event.preventDefault();
  });
}

/** Handles a key; returns whether it has an action here. */
function pressed(event) {
  if (rateByKey(event)) return true;
  const onControl = event.target.closest("a, button, summary");
  if (event.key === "Enter" && onControl) return false;
  const action = KEY_ACTIONS[event.key];
  return Boolean(action) && action() !== false;
}

const KEY_ACTIONS = {
  j: () => movePassage(1),
  k: () => movePassage(-1),
  ArrowDown: () => inGrid() && movePassage(1),
  ArrowUp: () => inGrid() && movePassage(-1),
  l: () => moveEntry(1),
  h: () => moveEntry(-1),
  ArrowRight: () => moveEntry(1),
  ArrowLeft: () => moveEntry(-1),
  Enter: () => openHere(),
  u: () => goUp(),
  Escape: () => goUp(),
  a: () => agree(),
  x: () => unrate(),
  c: () => focusOn("[data-comment]:not([disabled])"),
  f: () => hasFairSample() && navigate({ name: "fair" }),
  "/": () => focusOn("[data-search]"),
  s: () => askAndSave(),
  "?": () => showKeys(),
};

function inGrid() {
  return document.activeElement?.closest(".grid") !== null && document.activeElement?.closest(".grid") !== undefined;
}

function focusOn(selector) {
  const node = document.querySelector(selector);
  node?.focus();
  node?.setSelectionRange(node.value.length, node.value.length);
  return Boolean(node);
}

/** The pair that keys act on, or null. */
function currentPair() {
  const { view, screen } = app;
  if (!screen?.query?.entries.length) return null;
  if (view.name === "passage") return { query: screen.query, p: view.p, e: view.e };
  if (view.name !== "query") return null;
  const p = screen.view.order[screen.view.row];
  return p === undefined ? null : { query: screen.query, p, e: screen.view.e };
}

function movePassage(by) {
  const { view, screen } = app;
  if (view.name === "overview") return moveInOverview(by);
  if (!screen) return false;
  if (view.fair) {
    moveInFair(by);
    return true;
  }
  if (view.name === "query") {
    screen.select(screen.view.row + by, screen.view.e);
    screen.grid.focusSelected();
    return true;
  }
  if (view.name !== "passage") return false;
  const p = screen.view.order[screen.view.order.indexOf(view.p) + by];
  if (p !== undefined) navigate({ ...view, p }, { replace: true });
  return true;
}

function moveEntry(by) {
  const { view, screen } = app;
  if (!screen || view.fair || !["query", "passage"].includes(view.name)) return false;
  if (view.name === "query") {
    const p = screen.view.order[screen.view.row];
    if (p === undefined) return false;
    screen.select(screen.view.row, screen.query.askedBeside(p, screen.view.e, by) ?? screen.view.e);
    screen.grid.focusSelected();
    return true;
  }
  const e = screen.query.askedBeside(view.p, view.e, by);
  if (e !== undefined) navigate({ ...view, e }, { replace: true });
  return true;
}

function openHere() {
  if (app.view.name === "overview") {
    const q = overview.shown[overview.selected];
    if (q !== undefined) navigate({ name: "query", q });
  } else if (app.view.name === "query") openSelected();
  else return false;
  return true;
}

function goUp() {
  if (app.view.fair) navigate({ name: "overview" });
  else if (app.view.name === "passage") navigate({ name: "query", q: app.view.q });
  else if (app.view.name !== "overview") navigate({ name: "overview" });
}

function rateByKey({ key, repeat }) {
  const pair = currentPair();
  const chosen = review.head.scale.find(([rating, , letter]) => String(rating) === key || (letter && letter === key));
  if (!pair || !chosen) return false;
  if (repeat) return true; // a held key rates only once
  setRating(pair.query, pair.p, pair.e, chosen[0]);
  app.screen.refresh();
  if (app.advance) moveEntryOrPassage();
  return true;
}

/** Moves to the next entry, or from the last entry to the next passage; stays at the last pair. */
function moveEntryOrPassage() {
  if (app.view.fair) return moveInFair(1);
  const { query, p, e } = currentPair();
  if (query.askedBeside(p, e, 1) !== undefined) return moveEntry(1);
  const { order } = app.screen.view;
  if (order.indexOf(p) + 1 === order.length) return false;
  if (app.view.name === "query") return app.screen.select(app.screen.view.row + 1, 0);
  app.view = { ...app.view, e: 0 };
  return movePassage(1);
}

function agree() {
  const pair = currentPair();
  const rating = pair && shownRating(pair.query, pair.p, pair.e, app.grader);
  if (rating === null || rating === undefined) return false;
  if (!review.head.scale.some(([value]) => value === rating)) return false;
  setRating(pair.query, pair.p, pair.e, rating);
  app.screen.refresh();
  return true;
}

function unrate() {
  const pair = currentPair();
  if (!pair) return false;
  removeRating(pair.query, pair.p, pair.e);
  app.screen.refresh();
  return true;
}

/** The keys of the scale: "0 ... 5", or each key with its label. */
function scaleKeys() {
  const { scale } = review.head;
  if (scale.every(([rating, label]) => String(rating) === label)) {
    const highest = scale.at(-1)[0];
    return highest < 10 ? `${scale[0][0]} ... ${highest}` : `${scale[0][0]} ... 9; higher ratings only by button`;
  }
  return scale.map(([rating, label, letter]) => `${letter ? `${letter} or ` : ""}${rating}: ${label}`).join(", ");
}

function showKeys() {
  const toggle = (name, label) => {
    const box = el("input", { type: "checkbox", checked: app[name], onchange: () => { app[name] = box.checked; } });
    return el("label", { class: "check" }, box, ` ${label}`);
  };
  ask("Keys", [
    el("table", { class: "list" }, el("tbody", {},
      KEYS.filter(([key]) => key !== "f" || hasFairSample()).map(([key, action]) => el("tr", {}, el("th", { scope: "row" }, key), el("td", {}, worded(action)))),
      el("tr", {}, el("th", { scope: "row" }, "ratings"), el("td", {}, scaleKeys())),
    )),
    toggle("shortcuts", "Enable keys without Ctrl"),
    toggle("advance", "Go to the next pair after a rating"),
  ], null);
}
