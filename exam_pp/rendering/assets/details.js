// Texts behind the cells of a table, shown for the selected cell.

/** Shows the texts behind a cell, and behind its row, when the cell is clicked or reached with the arrow keys. */
function makeSelectable(box) {
  const behind = box.querySelector(".behind");
  const table = box.querySelector("table");
  const rows = [...table.tBodies[0].rows];
  const panel = el("div", { class: "panel selected", role: "group", "aria-label": "Selected cell", "aria-live": "polite", tabindex: 0 });
  fill(panel, el("p", { class: "faint" }, "Select a cell to see the texts behind it."));
  const columns = [...table.tHead.rows[0].cells].filter((header) => header.title).map((header) => header.cellIndex);
  rows.forEach((row, i) => {
    const texts = behind.querySelector(`[data-row="${i}"]`);
    for (const column of [0, ...columns]) {
      const cell = row.cells[column];
      cell.dataset.details = "";
      cell.tabIndex = -1;
      const show = () => fill(panel, describe(table, cell, texts));
      cell.addEventListener("focus", () => select(table, cell, show));
    }
  });
  table.setAttribute("role", "grid");
  table.setAttribute("aria-label", box.closest("section")?.querySelector("h2")?.textContent ?? "Table");
  table.querySelector("[data-details]").tabIndex = 0;
  table.addEventListener("keydown", move);
  box.classList.add("with-selected");
  box.append(panel);
}

function select(table, cell, show) {
  for (const other of table.querySelectorAll("[aria-selected], [data-details][tabindex='0']")) {
    other.removeAttribute("aria-selected");
    other.tabIndex = -1;
  }
  cell.setAttribute("aria-selected", "true");
  cell.tabIndex = 0;
  show();
}

/** The full name of the column, the texts behind the cell, and the text behind the row. */
function describe(table, cell, texts) {
  const header = table.tHead.rows[0].cells[cell.cellIndex];
  const [facts, text] = [cell.cellIndex, 0].map((column) => texts?.querySelector(`[data-column="${column}"] dl`));
  const shade = [...cell.classList].find((name) => name.startsWith("shade-"));
  const answer = cell.cellIndex ? facts?.querySelector("dd").textContent.trim() : null;
  return [
    el("h3", {}, cell.parentElement.cells[0].textContent),
    cell.cellIndex > 0 && [
      el("p", {}, el("span", { class: "faint" }, `${header.textContent} `), header.title),
      el("p", {}, shade ? el("span", { class: `rating ${shade}` }, cell.textContent) : "ungraded"),
      facts?.cloneNode(true),
    ],
    text && el("blockquote", { class: "passage" }, marked(textOf(text), answer)),
  ];
}

function textOf(facts) {
  return facts.querySelector("dd").textContent;
}

/** The text, with the answer marked if it occurs in it. */
function marked(text, answer) {
  const start = answer ? text.toLowerCase().indexOf(answer.toLowerCase()) : -1;
  if (start < 0) return [text];
  const end = start + answer.length;
  return [text.slice(0, start), el("mark", {}, text.slice(start, end)), text.slice(end)];
}

/** Moves to the next cell with details in the direction of an arrow key. */
function move(event) {
  const cell = event.target.closest("[data-details]");
  if (!cell) return;
  const column = cell.cellIndex;
  const ways = {
    ArrowRight: () => nextSibling(cell, "nextElementSibling"),
    ArrowLeft: () => nextSibling(cell, "previousElementSibling"),
    ArrowDown: () => nextRow(cell.parentElement, "nextElementSibling", column),
    ArrowUp: () => nextRow(cell.parentElement, "previousElementSibling", column),
  };
  const next = ways[event.key]?.();
  if (!next) return;
  event.preventDefault();
  next.focus();
}

function nextSibling(cell, way) {
  let next = cell[way];
  while (next && next.dataset.details === undefined) next = next[way];
  return next;
}

function nextRow(row, way, column) {
  let next = row[way];
  while (next && (next.hidden || next.cells[column].dataset.details === undefined)) next = next[way];
  return next?.cells[column];
}
