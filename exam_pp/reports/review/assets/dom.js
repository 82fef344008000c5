// Parts of the page: tables, choices and dialogs.

/** Calls this once the page is shown: Chromium (156) may lose all that a page from disk stores, if it uses its storage while it loads. */
function whenShown(action) {
  window.addEventListener("pageshow", () => setTimeout(action), { once: true });
}

/** The header row of a table; a column without a name has an empty cell. */
function tableHead(names) {
  return el("thead", {}, el("tr", {}, names.map((name) => (name ? el("th", { scope: "col" }, name) : el("td", {})))));
}

/** A select with a label; options are [value, text] pairs. */
function choice(label, options, chosen, action) {
  const select = el(
    "select",
    { onchange: () => action(select.value), "data-focus": label },
    options.map(([value, text]) => el("option", { value, selected: String(value) === String(chosen) }, text)),
  );
  return el("label", { class: "field" }, el("span", {}, label), select);
}

/** Announces a message to screen readers. */
function announce(message) {
  document.getElementById("announcer").textContent = message;
}

/** Ends the last dialog, if it is closed; null once it has ended. */
let endDialog = null;

/** Shows a dialog with a form; resolves to true if it is confirmed, to false if it is closed. */
function ask(title, content, confirmLabel, { check = () => true } = {}) {
  const dialog = document.getElementById("dialog");
  endDialog?.(); // the event of its closing comes later, and may come after this dialog has opened
  const before = document.activeElement;
  return new Promise((resolve) => {
    let answer = false;
    const finish = (event) => {
      event.preventDefault();
      if (!check()) return;
      answer = true;
      dialog.close();
    };
    fill(
      dialog,
      el(
        "form",
        { onsubmit: finish },
        el("h2", { id: "dialog-title" }, title),
        content,
        el(
          "p",
          { class: "actions" },
          confirmLabel && el("button", { type: "submit", class: "primary" }, confirmLabel),
          button(confirmLabel ? "Cancel" : "Close", () => dialog.close()),
        ),
      ),
    );
    const leave = () => {
      if (dialog.open) return;
      endDialog = null;
      dialog.removeEventListener("close", leave);
      dialog.replaceChildren();
      if (before?.isConnected && document.activeElement === document.body) before.focus(); // else something else was opened since
      resolve(answer);
    };
    dialog.addEventListener("close", leave);
    dialog.showModal();
    endDialog = leave;
  });
}

/** The start of a text on one line. */
function shortened(text, length) {
  const line = text.slice(0, 2 * length).replace(/\s+/gu, " ").trim();
  return line.length > length ? `${line.slice(0, length).trimEnd()} …` : line;
}

/** A control below its label. */
function field(label, control) {
  return el("label", { class: "field tall" }, el("span", {}, label), control);
}

/** Redraws a container and restores the focus and the caret. */
function redraw(container, make) {
  const active = container.contains(document.activeElement) ? document.activeElement : null;
  const { selectionStart: start, selectionEnd: end, dataset: { focus } = {} } = active ?? {};
  fill(container, make());
  const again = focus === undefined ? null : container.querySelector(`[data-focus="${CSS.escape(focus)}"]`);
  again?.focus();
  if (Number.isInteger(start)) again?.setSelectionRange?.(start, end);
}

/** Quotes an argument for the shell. */
function quoted(argument) {
  return /^[\w.@%+=:,/-]+$/u.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
