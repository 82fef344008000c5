// Functions to build the page. No function turns text into markup.

/** Creates an element; properties that start with "on" are listeners, all others are attributes. */
function el(tag, properties = {}, ...children) {
  return build(document.createElement(tag), properties, children);
}

/** Creates an SVG element, like el(). */
function svg(tag, properties = {}, ...children) {
  return build(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function build(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...flattened(children));
  return node;
}

/** Flattens a nested list and drops null, undefined and false, as from `condition && node`. */
function flattened(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/** Replaces all children of a node. */
function fill(node, ...children) {
  node.replaceChildren(...flattened(children));
}

/** A button with a label. */
function button(label, action, properties = {}) {
  return el("button", { type: "button", onclick: action, ...properties }, label);
}

/** "1 rating", "3 ratings". */
function count(number, singular, plural = `${singular}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? singular : plural}`;
}
