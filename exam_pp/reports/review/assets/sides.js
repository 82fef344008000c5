// Two answers to a query side by side: the facts that one states and the other lacks.

const sides = { shown: [0, 1], open: false }; // indexes of the systems

/** The panel of two answers; null if the page does not show whole answers of several systems. */
function sidesPanel(query, refresh) {
  const { answers, blind, graders, systems } = review.head;
  if (!answers || blind || !graders.length || systems.length < 2) return null;
  const choose = (i) => (value) => {
    sides.shown[i] = Number(value);
    refresh();
  };
  const answerOf = (system) => query.ids.findIndex((_, p) => query.rankOf(p, system) !== null);
  const pair = sides.shown.map(answerOf);
  const [a, b] = sides.shown.map((system) => systems[system]);
  return el(
    "details",
    { class: "panel sides", open: sides.open, ontoggle: (event) => { sides.open = event.target.open; } },
    el("summary", { "data-focus": "sides" }, "Compare two answers"),
    el("div", { class: "columns" }, pair.map((p, i) => el(
      "section",
      {},
      choice(i ? "And" : "Compare", systems.map((name, index) => [index, name]), sides.shown[i], choose(i)),
      p < 0 ? el("p", { class: "faint" }, "This system has no answer.") : el("p", { class: "quote", dir: "auto" }, shortenedSlot(query.text(p))),
    ))),
    [[`Only ${a}`, true, false], [`Only ${b}`, false, true], ["Both", true, true], ["Neither", false, false]].map(
      ([title, ...stated]) => factList(query, pair, title, stated),
    ),
  );
}

/** The facts that the first and the second answer state or lack, as in `stated`. */
function factList(query, pair, title, stated) {
  const isStated = (p, e) => p >= 0 && (countedRating(query, p, e) ?? -1) >= review.head.min_grade;
  const facts = query.entries.filter((_, e) => pair.every((p, i) => isStated(p, e) === stated[i]));
  return facts.length > 0 && [
    el("h2", { dir: "auto" }, `${title} (${facts.length})`),
    el("ul", {}, facts.map((entry) => el("li", { dir: "auto" }, entry.text, " ", el("span", { class: "chips" }, entry.importance && el("span", { class: "chip" }, entry.importance), worthChips(entry), avoids(entry) && stated.includes(true) && el("span", { class: "rating mistake" }, "mistake made"))))),
  ];
}
