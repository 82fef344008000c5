// A table for many rows: only the visible rows are in the document; printing draws all rows.

const ROW_HEIGHT = 36;
const ROWS_BEYOND = 12;

class Grid {
  /** `makeRow(row)` returns the <tr> of a row; `header` is the <tr> of the header. */
  constructor({ label, header, columns, makeRow }) {
    this._makeRow = makeRow;
    this._columns = columns;
    this._header = el("thead", {}, header);
    this._body = el("tbody", {});
    this._table = el("table", { role: "grid", "aria-label": label }, this._header, this._body);
    this.element = el("div", { class: "grid", tabindex: 0, role: "region", "aria-label": label, onscroll: () => this._scrolled() }, this._table);
    this._rows = 0;
    this._drawn = [0, 0];
    this._isWhole = false; // all rows are drawn, until they are shown again
  }

  /** Sets the number of rows and redraws them. */
  show(rows, header = null) {
    this._rows = rows;
    this._isWhole = false;
    if (header) this._header.replaceChildren(header);
    this._table.setAttribute("aria-rowcount", String(rows + 1));
    this._draw(...this._range());
  }

  /** Redraws these rows, if they are in the document. */
  update(rows) {
    const focused = this._body.contains(document.activeElement);
    const [first, last] = this._drawn;
    for (const row of new Set(rows)) {
      // The first child is the space above the rows.
      if (row >= first && row < last) this._body.children[1 + row - first].replaceWith(this._row(row));
    }
    if (focused) this.focusSelected();
  }

  /** Scrolls until a row and the selected cell are in view. */
  reveal(row) {
    const scroller = this.element;
    const top = row * ROW_HEIGHT;
    const room = scroller.clientHeight - this._header.offsetHeight - ROW_HEIGHT;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top > scroller.scrollTop + room) scroller.scrollTop = top - room;
    this._scrolled();
    this._revealColumn();
  }

  _revealColumn() {
    const selected = this._selectedCell();
    if (!selected) return;
    const [cell, box] = [selected.getBoundingClientRect(), this.element.getBoundingClientRect()];
    // The first column is fixed and covers the columns that scroll under it.
    const start = selected.parentElement.firstChild.getBoundingClientRect().right;
    if (cell.left < start) this.element.scrollLeft -= start - cell.left;
    else if (cell.right > box.right) this.element.scrollLeft += cell.right - box.right;
  }

  drawAll() {
    this._isWhole = true;
    this._draw(0, this._rows);
  }

  _scrolled() {
    if (this._isWhole) return;
    const [first, last] = this._range();
    const [from, to] = this._drawn;
    if (first !== from || last !== to) this._draw(first, last);
  }

  _range() {
    const height = this.element.clientHeight || window.innerHeight;
    const first = Math.floor(this.element.scrollTop / ROW_HEIGHT) - ROWS_BEYOND;
    const last = first + Math.ceil(height / ROW_HEIGHT) + 2 * ROWS_BEYOND;
    return [Math.max(0, Math.min(first, this._rows)), Math.min(this._rows, last)];
  }

  _draw(first, last) {
    const rows = [];
    for (let row = first; row < last; row++) rows.push(this._row(row));
    const focused = this._body.contains(document.activeElement);
    this._body.replaceChildren(this._space(first), ...rows, this._space(this._rows - last));
    this._drawn = [first, last];
    if (focused) this.focusSelected();
  }

  _row(row) {
    const node = this._makeRow(row);
    node.setAttribute("aria-rowindex", String(row + 2));
    return node;
  }

  /** An empty row with the height of the rows that are not drawn. */
  _space(rows) {
    const cell = el("td", { colspan: this._columns });
    cell.style.height = `${rows * ROW_HEIGHT}px`;
    return el("tr", { class: "space", "aria-hidden": "true", hidden: rows === 0 }, cell);
  }

  focusSelected() {
    // preventScroll: the browser does not know that the fixed row and column may cover the cell.
    this._selectedCell()?.focus({ preventScroll: true });
    this.element.scrollIntoView({ block: "nearest" });
  }

  _selectedCell() {
    return this._body.querySelector("[aria-selected=true]");
  }
}
