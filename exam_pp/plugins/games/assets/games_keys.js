// Keyboard shortcuts of the page of games.

const KEYS = [
  ["a, b", "answer A is better, answer B is better"],
  ["t", "tie"],
  ["s", "skip"],
  ["u", "undo the last decision"],
  ["→, ←", "next, previous game"],
  ["n", "next game without a decision"],
  ["c", "comment"],
  ["p", "open or close the passages"],
  ["Ctrl+S", "save the edits"],
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
function pressed({ key, repeat }) {
  if (key === "?") return showKeys() && true;
  if (app.view.name !== "game") return false;
  const decision = WINNERS.find(([, , letter]) => letter === key);
  if (decision) {
    if (!repeat) chooseWinner(decision[0]); // a held key decides only once
    return true;
  }
  return Boolean(KEY_ACTIONS[key]) && KEY_ACTIONS[key]() !== false;
}

const KEY_ACTIONS = {
  ArrowRight: () => goTo(app.view.n + 1),
  ArrowLeft: () => goTo(app.view.n - 1),
  n: () => goTo(nextOpen(app.view.n)),
  u: () => undoLast(),
  c: () => document.querySelector("[data-comment]")?.focus(),
  p: () => document.querySelector(".passages > summary")?.click(),
};

function showKeys() {
  const toggle = (name, label) => {
    const box = el("input", { type: "checkbox", checked: app[name], onchange: () => { app[name] = box.checked; } });
    return el("label", { class: "check" }, box, ` ${label}`);
  };
  return ask("Keys", [
    el("table", { class: "list" }, el("tbody", {}, KEYS.map(([key, action]) => el("tr", {}, el("th", { scope: "row" }, key), el("td", {}, action))))),
    toggle("shortcuts", "Enable keys without Ctrl"),
    toggle("advance", "Go to the next game after a decision"),
  ], null);
}
