// Citations of a part of an answer: each cited passage with the reviewer's label and those of graders.

const SUPPORTS = [
  ["full_support", "full support", "The passage contains all information of the statement.", 5],
  ["partial_support", "partial support", "The passage contains a part of the information; the rest is missing.", 3],
  ["no_support", "no support", "The passage contains none of the information, or contradicts it.", 0],
];

function supportLabel(support) {
  return SUPPORTS.find(([name]) => name === support)?.[1] ?? support;
}

function supportChip(support) {
  const [, label, , level] = SUPPORTS.find(([name]) => name === support);
  return el("span", { class: `rating shade-${level}` }, label);
}

/** The citations of a passage; null if it has none. */
function citationPanel(query, p, refresh) {
  const citations = query.citations(p);
  if (!citations.length) return null;
  const labelled = citations.filter(({ id }) => ownSupport(query, p, id)).length;
  return el(
    "details",
    { class: "panel citations", open: app.citationsOpen, ontoggle: (event) => { app.citationsOpen = event.target.open; } },
    el("summary", { "data-focus": "citations" }, `${count(citations.length, "citation")}, ${labelled} labelled by you`),
    el("p", { class: "faint" }, "How far does each cited passage support the text?"),
    citations.map((citation, c) => citationCard(query, p, citation, c, refresh)),
  );
}

function citationCard(query, p, { id, text, labels }, c, refresh) {
  const name = `Citation ${c + 1}`;
  const own = ownSupport(query, p, id);
  const open = !review.head.blind || own !== undefined;
  return el(
    "section",
    { class: "citation", "aria-label": name },
    el("h2", {}, el("span", { class: "faint" }, `${name} `), el("span", { dir: "auto" }, id)),
    text === null
      ? el("p", { class: "faint" }, "The file does not have the text of this passage; it counts as no support.")
      : el("div", { class: "quote", dir: "auto", tabindex: 0, role: "group", "aria-label": `Text of ${name.toLowerCase()}` }, shortenedSlot(text)),
    (text !== null || own) && supportControls(query, p, id, c, own, refresh),
    open ? labels.map(labelFacts) : labels.length > 0 && el("p", { class: "faint" }, "Label this citation to see the labels of others."),
  );
}

function supportControls(query, p, id, c, own, refresh) {
  const choose = (support) => {
    setSupport(query, p, id, own?.support === support ? null : support);
    refresh();
  };
  const comment = el("textarea", { rows: 1, dir: "auto", oninput: () => setSupportComment(query, p, id, comment.value) }, own?.comment ?? "");
  return el(
    "div",
    { class: "own-rating" },
    el(
      "div",
      { role: "group", "aria-label": `Your label of citation ${c + 1}`, class: "scale" },
      el("span", {}, "Your label"),
      SUPPORTS.map(([support, label, meaning]) =>
        button(label, () => choose(support), {
          class: `rate${own?.support === support ? " chosen" : ""}`,
          "aria-pressed": own?.support === support ? "true" : "false",
          "aria-label": `Citation ${c + 1}: ${label}`,
          "data-focus": `support-${c}-${support}`,
          title: meaning,
        }),
      ),
    ),
    own && el("label", { class: "field tall" }, el("span", {}, "Comment"), comment),
  );
}

/** The label of a grader, with the raw reply or the reason of a missing label. */
function labelFacts({ grader, support, reply, reason, comment }) {
  const fact = (name, value, properties = {}) => (value === null ? null : [el("dt", {}, name), el("dd", { dir: "auto", ...properties }, value)]);
  return el(
    "dl",
    { class: "facts", "aria-label": grader },
    fact("Grader", grader),
    fact("Support", support === null ? "ungraded" : supportChip(support)),
    fact("Reason", reason),
    fact("Reply", reply, { class: "quote raw" }),
    fact("Comment", comment, { class: "quote" }),
  );
}
