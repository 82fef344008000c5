// The passage view: its text, and its grades entry by entry.

const LONG_TEXT = 50_000; // characters that are shown at first

async function renderPassage(main, { q, p, e }) {
  const query = await openQuery(q);
  if (app.view.name !== "passage" || app.view.q !== q) return;
  const view = queryView(q);
  if (!view.order) arrangePassages(query, view);
  view.row = Math.max(0, view.order.indexOf(p));
  e = query.nearestAsked(p, e);
  view.e = app.view.e = e;
  const text = passageText(query, p, e);
  text.classList.add("panel");
  const facts = el("div", { class: "heading" });
  const cards = el("div", { class: "cards" });
  const citations = el("div", { class: "cards" });
  const draw = () => {
    redraw(facts, () => passageHeading(query, view, p));
    redraw(citations, () => [citationPanel(query, p, draw)]);
    redraw(cards, () => (app.view.fair ? [e] : query.asked(p)).map((i) => entryCard(query, p, i, draw)));
    drawText(text, query, p, app.view.e);
  };
  app.screen = { query, view, p, refresh: draw };
  main.replaceChildren(facts, el("div", { class: "columns" }, text, el("div", { class: "cards" }, query.citations(p).length > 0 && citations, cards)));
  draw();
  if (e > 0) cards.querySelector(".selected").scrollIntoView({ block: "nearest" });
}

function passageHeading(query, view, p) {
  // Without ids, which name the system of an answer, the rating is about the text.
  if (app.view.fair) return [queueBar(), el("h1", { dir: "auto" }, query.queryText || query.id)];
  const index = view.order.indexOf(p);
  const link = (by, label) => {
    const target = view.order[index + by];
    return index < 0 || target === undefined ? null : el("a", { href: passageAddress(query.index, target, view.e) }, label);
  };
  return [
    queueBar(queueName(view)),
    el("h1", { dir: "auto" }, passageName(query, p)),
    el("span", { class: "faint", dir: "auto" }, query.queryText || query.id),
    el("nav", { "aria-label": worded("Passages") }, link(-1, worded("← previous passage")), " ", link(1, worded("next passage →"))),
    revealsPassage(query, p)
      ? el("p", { class: "chips" }, judgmentChips(query, p), rankChips(query, p))
      : !review.head.live && el("p", { class: "faint" }, `Systems, judgments and the id appear after you rate all entries${query.citations(p).length ? " and label all citations" : ""}.`),
  ];
}

function judgmentChips(query, p) {
  const judged = query.judgments[p];
  return el("span", { class: "chip" }, judged.length ? `judged ${judged.join(", ")}` : "not judged");
}

function rankChips(query, p) {
  return query.ranks(p).map(([system, rank]) => el("span", { class: "chip", dir: "auto" }, review.head.answers ? review.head.systems[system] : `${review.head.systems[system]}: rank ${rank}`));
}

// The text

/** A box with the text, in which the extracted answer of an entry is marked. */
function passageText(query, p, e) {
  const box = el("article", { class: "text", "aria-label": worded("Text of the passage"), tabindex: 0 });
  drawText(box, query, p, e);
  return box;
}

function drawText(box, query, p, e) {
  const text = query.text(p);
  const marks = [...(revealsPair(query, p, e) ? answerMarks(query, p, e) : []), ...(served.marks?.(query, p) ?? [])];
  const end = text.length > LONG_TEXT && app.wholeText !== p ? LONG_TEXT : text.length;
  const drawn = JSON.stringify([p, end, marks]);
  if (box.drawn === drawn) return; // a selection stays
  box.drawn = drawn;
  const more = () => {
    app.wholeText = p;
    drawText(box, query, p, e);
  };
  fill(
    box,
    el("p", { dir: "auto" }, markedText(text.slice(0, end), marks)),
    end < text.length && el("p", {}, button(`Show all ${text.length.toLocaleString("en")} characters`, more)),
    !text.trim() && el("p", { class: "faint" }, worded("The passage has no text.")),
  );
  // Scroll within the box only, so that the page does not move.
  const mark = box.querySelector("mark");
  if (mark) box.scrollTop += mark.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
}

/** The extracted answer in the text: of the shown grader, else of the first grader with an answer. */
function answerMarks(query, p, e) {
  const { graders } = review.head;
  for (const g of [app.grader, ...graders.keys()]) {
    const flat = query.value("spans", p, e, g); // start, end, start, end ...
    if (flat) return flat.flatMap((start, i) => (i % 2 ? [] : { start, end: flat[i + 1], title: `answer of ${graders[g]}` }));
  }
  return [];
}

/** The text with a <mark> for what `marks` (start, end, title, class) cover; where several do, it has all titles. */
function markedText(text, marks) {
  const edges = marks.flatMap(({ start, end }) => [start, end]).filter((edge) => edge < text.length);
  const places = [...new Set([0, ...edges, text.length])].sort((a, b) => a - b);
  return places.slice(1).map((end, i) => {
    const over = marks.filter((mark) => mark.start < end && mark.end > places[i]);
    const all = (name) => [...new Set(over.map((mark) => mark[name]))].filter(Boolean);
    const part = text.slice(places[i], end);
    return over.length ? el("mark", { class: all("class").join(" ") || null, title: all("title").join("\n") }, part) : part;
  });
}

// The entries

function entryCard(query, p, e, draw) {
  const entry = editedEntry(query.id, query.entries[e]);
  const selected = app.view.e === e;
  const select = () => navigate({ ...app.view, e }, { replace: true });
  const head = button(
    [el("span", { class: "faint" }, `${e + 1} `), el("span", { dir: "auto" }, entry.text), " ", el("span", { class: "chips" }, worthChips(entry)), " ", ratingChips(query, p, e)],
    select,
    { class: "plain card-head", "aria-expanded": selected ? "true" : "false", "data-focus": `card-${e}` },
  );
  return el(
    "section",
    { class: `panel card${selected ? " selected" : ""}`, "aria-label": `Entry ${e + 1}` },
    el("h2", {}, head),
    selected && pairBody(query, p, e, draw),
    selected && promptDetails(query, p, e),
  );
}

/** The ratings of a pair; of several, each has the name of its grader. */
function ratingChips(query, p, e) {
  const rated = review.head.graders
    .map((name, g) => ({ name, rating: shownRating(query, p, e, g), kind: null }))
    .filter(({ rating }) => rating !== null);
  const own = ownRating(query, p, e);
  if (own) rated.push({ name: "you", rating: own.rating, kind: "own" });
  return rated.map(({ name, rating, kind }) => {
    const entry = query.entries[e];
    const chip = el("span", { class: `rating ${ratingClass(entry, rating)} ${kind ?? ""}`, title: name }, ratingLabel(entry, rating));
    return rated.length < 2 && !own ? chip : el("span", { class: "named" }, el("span", { class: "grader", title: name }, name), " ", chip);
  });
}

/** The reviewer's rating and comment of a pair, and the grades of all graders. */
function pairBody(query, p, e, refresh) {
  const { head } = review;
  const open = revealsPair(query, p, e);
  return el(
    "div",
    { class: "pair" },
    ratingControls(query, p, e, refresh),
    open
      ? head.graders.map((name, g) => hasGraded(query, p, e, g, name) && graderFacts(query, p, e, g, name))
      : head.graders.length > 0 && el("p", { class: "faint" }, "Rate this pair to see the grades of others."),
  );
}

function ratingControls(query, p, e, refresh) {
  const own = ownRating(query, p, e);
  const rate = (rating) => {
    if (own?.rating === rating) removeRating(query, p, e);
    else setRating(query, p, e, rating);
    refresh();
  };
  const comment = el(
    "textarea",
    { rows: 2, disabled: !own, placeholder: own ? "" : "Rate the pair first, then comment.", "data-comment": true, dir: "auto", oninput: () => setComment(query, p, e, comment.value) },
    own?.comment ?? "",
  );
  const chosen = own && [step(own.rating).meaning, mistakeWords(query.entries[e], own.rating)].filter(Boolean).join(" – ");
  return el(
    "div",
    { class: "own-rating" },
    el(
      "div",
      { role: "group", "aria-label": "Your rating", class: "scale" },
      el("span", {}, "Your rating"),
      review.head.scale.map(([rating, label, key, meaning]) =>
        button(label, () => rate(rating), {
          class: `rate${own?.rating === rating ? " chosen" : ""}`,
          "aria-pressed": own?.rating === rating ? "true" : "false",
          "data-focus": `rate-${rating}`,
          title: [meaning, key && `key: ${key}`].filter(Boolean).join(" – ") || null,
        }),
      ),
    ),
    chosen && el("p", { class: "faint" }, chosen),
    el("label", { class: "field tall" }, el("span", {}, "Comment"), comment),
  );
}

/** Whether a grader has something to say of a pair: of people, those who rated it. */
function hasGraded(query, p, e, g, name) {
  return !name.startsWith("human:") || query.rating(p, e, g) !== null;
}

/** A grader's rating with its source, the extracted answer and the raw reply. */
function graderFacts(query, p, e, g, name) {
  const rating = query.rating(p, e, g);
  const fact = (label, value, properties = {}) =>
    value === null || value === undefined ? null : [el("dt", {}, label), el("dd", { dir: "auto", ...properties }, value)];
  const reason = query.string("reason", p, e, g);
  const answer = query.string("answer", p, e, g);
  return el(
    "dl",
    { class: "facts", "aria-label": name },
    fact("Grader", name),
    fact("Rating", rating === null ? "ungraded" : el("span", { class: `rating ${ratingClass(query.entries[e], rating)}` }, ratingLabel(query.entries[e], rating))),
    fact("Reason", rating === null ? (reason ?? "not asked") : null),
    fact("Source", sourceText(query.string("source", p, e, g))),
    fact("Margin", numberText(query.value("margin", p, e, g))),
    fact("Expected", numberText(query.value("expected", p, e, g))),
    fact("Answer", answer, { class: "quote" }),
    answer?.includes(" ") && !query.value("spans", p, e, g) ? fact("", "The passage does not contain the answer verbatim.", { class: "faint" }) : null,
    fact("Reply", query.string("reply", p, e, g), { class: "quote raw" }),
    fact("Comment", query.string("comment", p, e, g), { class: "quote" }),
    fact("Shortened", cutText(query.value("cut", p, e, g))),
  );
}

function sourceText(source) {
  const known = {
    "default-0": "default rule (0): the reply states that the question cannot be answered",
    "default-1": "default rule (1): the reply is text without a rating",
    reread: "stored reply, read again",
    human: "rated by a reviewer",
  };
  return source === null || source === "number" ? null : (known[source] ?? source);
}

function numberText(value) {
  return value === null ? null : value.toFixed(2);
}

function cutText(tokens) {
  return tokens ? `the model did not see ${count(tokens, "token")} of the ${worded("passage")}` : null;
}

/** The prompt with its placeholders filled in, built when it is opened. */
function promptDetails(query, p, e) {
  const { name, pieces, missing } = review.head.prompt;
  const text = el("pre", { class: "prompt", dir: "auto" });
  const fill = { context: query.text(p), query: query.queryText, question: query.entries[e].text, nugget: query.entries[e].text };
  const open = (event) => {
    if (event.target.open && !text.hasChildNodes()) {
      text.append(...(pieces ?? []).map(([piece, slot]) => (slot ? el("span", { class: "slot" }, shortenedSlot(fill[slot])) : piece)));
    }
  };
  return el(
    "details",
    { ontoggle: open },
    el("summary", {}, `Prompt ${name}`),
    missing && el("p", { class: "faint" }, missing),
    pieces && text,
  );
}

function shortenedSlot(text) {
  return text.length > LONG_TEXT ? `${text.slice(0, LONG_TEXT)} …` : text;
}
