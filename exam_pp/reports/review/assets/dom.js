// Building the page from text: nothing here, or anywhere, turns text into markup.

/** An element; properties that start with "on" are listeners, the others attributes. */
function el(tag, properties = {}, ...children) {
  return furnish(document.createElement(tag), properties, children);
}

/** The same for drawings. */
function svg(tag, properties = {}, ...children) {
  return furnish(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function furnish(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...present(children));
  return node;
}

/** What there is to show of a nested list: `condition && node` leaves out. */
function present(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/** Puts new children in the place of all others. */
function fill(node, ...children) {
  node.replaceChildren(...present(children));
}

/** The head of a table; a column without a name has an empty cell. */
function tableHead(names) {
  return el("thead", {}, el("tr", {}, names.map((name) => (name ? el("th", { scope: "col" }, name) : el("td", {})))));
}

/** A button with words on it. */
function button(words, action, properties = {}) {
  return el("button", { type: "button", onclick: action, ...properties }, words);
}

/** A select with a label; options are [value, words] pairs. */
function choice(label, options, chosen, action) {
  const select = el(
    "select",
    { onchange: () => action(select.value), "data-focus": label },
    options.map(([value, words]) => el("option", { value, selected: String(value) === String(chosen) }, words)),
  );
  return el("label", { class: "field" }, el("span", {}, label), select);
}

/** Says something to people who hear the page. */
function announce(words) {
  document.getElementById("announcer").textContent = words;
}

/** A dialog with a form: resolves to true when it is confirmed, to false when it is left. */
function ask(title, content, confirmWords, { check = () => true } = {}) {
  const dialog = document.getElementById("dialog");
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
          confirmWords && el("button", { type: "submit", class: "primary" }, confirmWords),
          button(confirmWords ? "Cancel" : "Close", () => dialog.close()),
        ),
      ),
    );
    const leave = () => {
      dialog.removeEventListener("close", leave);
      dialog.replaceChildren();
      if (before?.isConnected) before.focus();
      resolve(answer);
    };
    dialog.addEventListener("close", leave);
    dialog.showModal();
  });
}

/** "1 rating", "3 ratings". */
function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** The start of a text on one line. */
function shortened(text, length) {
  const line = text.slice(0, 2 * length).replace(/\s+/gu, " ").trim();
  return line.length > length ? `${line.slice(0, length).trimEnd()} …` : line;
}
