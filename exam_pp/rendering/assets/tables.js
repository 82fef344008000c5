// Tables that sort by a click on a column header, and a field that filters the rows of long tables.

const FILTERED_FROM = 16; // rows
const NUMBER = /^[≈<>≤≥\s]*([-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?![\w.-]*\d)/iu;

function improveTable(box) {
  const table = box.querySelector("table");
  const rows = [...table.tBodies[0].rows];
  if (rows.length > 1) makeSortable(table, rows);
  if (rows.length >= FILTERED_FROM) box.querySelector(".scroll").before(rowFilter(table, rows));
}

/** Puts a button into each header: a click sorts, a second one reverses, a third one restores the order. */
function makeSortable(table, rows) {
  const headers = [...table.tHead.rows[0].cells];
  const restore = () => table.tBodies[0].append(...rows);
  headers.forEach((header, column) => {
    const values = new Map(rows.map((row) => [row, row.cells[column].textContent.trim()]));
    const first = readNumbers(values) ? "descending" : "ascending";
    const second = first === "ascending" ? "descending" : "ascending";
    const sort = () => {
      const before = header.getAttribute("aria-sort");
      const direction = before === "none" ? first : before === first ? second : "none";
      for (const other of headers) other.setAttribute("aria-sort", other === header ? direction : "none");
      if (direction === "none") restore();
      else table.tBodies[0].append(...sorted(rows, values, direction));
    };
    header.setAttribute("aria-sort", "none");
    header.replaceChildren(el("button", { type: "button", class: "plain", onclick: sort }, ...header.childNodes));
  });
}

/** Replaces the texts of a column by numbers if all of them start with a number; returns whether they do. */
function readNumbers(values) {
  const numbers = new Map();
  for (const [row, text] of values) {
    const match = NUMBER.exec(text);
    if (text && !match) return false;
    numbers.set(row, text ? Number(match[1].replace("−", "-")) : null);
  }
  if ([...numbers.values()].every((number) => number === null)) return false;
  for (const [row, number] of numbers) values.set(row, number);
  return true;
}

/** The rows by value; empty cells come last, and equal values keep their order. */
function sorted(rows, values, direction) {
  const sign = direction === "descending" ? -1 : 1;
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const isEmpty = (value) => value === null || value === "";
  return rows.toSorted((left, right) => {
    const [a, b] = [values.get(left), values.get(right)];
    if (isEmpty(a) || isEmpty(b)) return isEmpty(a) - isEmpty(b);
    return sign * (typeof a === "string" ? compare(a, b) : a - b);
  });
}

/** A field that shows only the rows with all words of its text. */
function rowFilter(table, rows) {
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const shown = el("span", { class: "faint", role: "status" }, count(rows.length, "row"));
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/u).filter(Boolean);
    rows.forEach((row, i) => { row.hidden = !words.every((word) => texts[i].includes(word)); });
    const number = rows.filter((row) => !row.hidden).length;
    fill(shown, words.length ? `${number.toLocaleString("en")} of ${count(rows.length, "row")}` : count(rows.length, "row"));
  };
  const input = el("input", { type: "search", oninput: filter });
  return el("div", { class: "filter" }, el("label", { class: "field search" }, el("span", {}, "Filter rows"), input), shown);
}

/** Boxes that scroll can be reached by keyboard. */
function makeReachable(box) {
  const name = box.querySelector("caption, [aria-label]") ?? box.closest("section")?.querySelector("h2") ?? document.querySelector("h1");
  const update = () => {
    const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    if (!scrolls) for (const attribute of ["tabindex", "role", "aria-label"]) box.removeAttribute(attribute);
    else {
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", name?.getAttribute("aria-label") ?? name?.textContent ?? "Table");
    }
  };
  new ResizeObserver(update).observe(box);
  update();
}
