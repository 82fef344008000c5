// A game: the query, both answers side by side, the decision, and the passages.

async function renderGame(main, n) {
  const game = await openGame(n);
  if (app.view.name !== "game" || app.view.n !== n) return;
  const head = el("div", { class: "heading" });
  const controls = el("div", { class: "panel decision" });
  const draw = () => {
    redraw(head, () => gameHeading(game, n));
    redraw(controls, () => decisionControls(n));
  };
  const answers = el("div", { class: "answers" }, answerBox("A", game.a), answerBox("B", game.b));
  const layout = el("div", { class: "game" }, el("div", { class: "main-column" }, answers, controls), passagePanel(game, () => arrange()));
  const arrange = () => layout.classList.toggle("with-passages", app.passagesOpen && game.passages.length > 0);
  arrange();
  fill(main, head, layout);
  draw();
  app.screen = { refresh: draw };
}

function gameHeading(game, n) {
  const { decided, skipped } = progress();
  const link = (target, label) => target >= 0 && target < review.games.length && el("a", { href: `#/g/${target}` }, label);
  return [
    el("h1", { dir: "auto" }, game.query),
    el("nav", { "aria-label": "Games" }, link(n - 1, "← previous game"), " ", link(n + 1, "next game →")),
    el("p", { class: "faint" }, `Game ${n + 1} of ${review.games.length}. ${decided} decided${skipped ? `, ${skipped} skipped` : ""}. `,
      el("progress", { max: review.games.length, value: decided, "aria-label": "Decided games" })),
  ];
}

function answerBox(place, parts) {
  const text = parts.map(({ text, cited }, i) => [i > 0 && " ", text, cited.length > 0 && citedMarks(cited)]);
  return el(
    "section",
    { class: "panel answer", "aria-label": `Answer ${place}` },
    el("h2", {}, `Answer ${place}`),
    el("div", { class: "answer-text", dir: "auto", tabindex: 0, role: "group", "aria-label": `Text of answer ${place}` }, text),
  );
}

/** The numbers of the passages that a part of an answer cites. */
function citedMarks(cited) {
  return el("span", { class: "cited", title: "Cited passages" }, ` (${cited.map((number) => `P${number + 1}`).join(", ")})`);
}

function decisionControls(n) {
  const own = ownGame(n);
  const comment = el("textarea", { rows: 2, "data-comment": true, "data-focus": "comment", dir: "auto", oninput: () => setComment(n, comment.value) }, own?.comment ?? "");
  return [
    el(
      "div",
      { role: "group", "aria-label": "Which answer is better?", class: "scale" },
      el("span", {}, "Which answer is better?"),
      WINNERS.map(([winner, label, key]) =>
        button(label, () => chooseWinner(winner), {
          class: `rate${own?.winner === winner ? " chosen" : ""}`,
          "aria-pressed": own?.winner === winner ? "true" : "false",
          "aria-keyshortcuts": key,
          "data-focus": `winner-${key}`,
          title: `key: ${key}`,
        }),
      ),
      button("Undo", undoLast, { disabled: work.history.length === 0, "data-focus": "undo", title: "key: u" }),
    ),
    el("label", { class: "field tall" }, el("span", {}, "Comment"), comment),
  ];
}

function passagePanel(game, arrange) {
  const { passages } = game;
  if (!passages.length) return el("p", { class: "faint" }, "The file has no passages of these answers.");
  const citedBy = (number) => ["a", "b"].filter((place) => game[place].some(({ cited }) => cited.includes(number))).map((place) => place.toUpperCase());
  return el(
    "details",
    { class: "panel passages", open: app.passagesOpen, ontoggle: (event) => { app.passagesOpen = event.target.open; arrange(); } },
    el("summary", {}, count(passages.length, "passage")),
    passages.map((text, number) => el(
      "section",
      { class: "citation", "aria-label": `Passage ${number + 1}` },
      el("h2", {}, `P${number + 1} `, citedBy(number).map((place) => [el("span", { class: "chip" }, `cited by ${place}`), " "])),
      el("div", { class: "quote", dir: "auto", tabindex: 0, role: "group", "aria-label": `Text of passage ${number + 1}` }, text),
    )),
  );
}

// The list of decisions

function renderDecisions(main) {
  const rows = review.games.map((game, n) => ({ n, own: ownGame(n), query: review.head.queries[game.q].text })).filter(({ own }) => own);
  const { decided, skipped } = progress();
  const others = work.games.size - rows.length;
  const refresh = () => renderDecisions(main);
  fill(
    main,
    el("h1", {}, "Your work"),
    el("p", { class: "lead" }, `${decided} of ${count(review.games.length, "game")} decided, ${skipped} skipped. ${saveState()}`),
    others > 0 && el("p", { class: "notice" }, `${count(others, "game is", "games are")} not on this page; they are kept in the file.`),
    rows.length > 0 && el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Decisions" }, decisionTable(rows, refresh)),
    el("h2", {}, "Next steps"),
    el("p", {}, "Save the edits, and give the file to the maker of this page, who turns it into games:"),
    el("pre", {}, `exam-pp apply ${quoted(review.head.passages)} edits.json --seed SEED -o games.jsonl.gz`),
  );
}

function decisionTable(rows, refresh) {
  const remove = (n) => {
    removeDecision(n);
    refresh();
  };
  return el(
    "table",
    { class: "list" },
    el("caption", {}, "Decisions"),
    tableHead(["Query", "Game", "Decision", "Comment", ""]),
    el("tbody", {}, rows.map(({ n, own, query }) => el(
      "tr",
      {},
      el("td", { dir: "auto" }, query),
      el("td", {}, el("a", { href: `#/g/${n}` }, `Game ${n + 1}`)),
      el("td", {}, own.winner === null ? "skipped" : winnerLabel(own.winner)),
      el("td", { dir: "auto" }, own.comment ?? ""),
      el("td", {}, button("Remove", () => remove(n), { class: "small", "aria-label": `Remove the decision of game ${n + 1}` })),
    ))),
  );
}

function saveState() {
  if (!work.games.size) return "No decisions yet.";
  if (work.saved) return "Saved.";
  return work.kept ? "Not saved yet, but kept by this browser." : "Not saved yet, and not kept by this browser: save before you close the page.";
}
