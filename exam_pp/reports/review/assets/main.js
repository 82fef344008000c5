// Start of the page, addresses, header, saving and loading, colours.

const app = {
  view: { name: "overview" },
  screen: null, // the current view, for keyboard shortcuts
  grader: 0,
  shortcuts: true,
  advance: false,
  entriesOpen: true,
  citationsOpen: true,
  wholeText: null, // the passage that is shown in full
};

// Addresses: #/ is the overview, #/fair the fair sample, #/q/3 a query, #/q/3/p/7/e/2 a passage, #/work the reviewer's work.

function readAddress() {
  const parts = window.location.hash.replace(/^#\/?/u, "").split("/");
  if (parts[0] === "work" || (parts[0] === "fair" && hasFairSample())) return { name: parts[0] };
  const [q, p, e] = [1, 3, 5].map((i) => Math.max(0, Math.trunc(Number(parts[i])) || 0));
  if (parts[0] !== "q" || !review.head.queries[q]) return { name: "overview" };
  const { passages, entries } = review.head.queries[q];
  if (parts[2] !== "p" || p >= passages) return { name: "query", q };
  return { name: "passage", q, p, e: Math.max(0, Math.min(e, entries.length - 1)) };
}

function addressOf(view) {
  if (view.name === "work") return "#/work";
  if (view.fair || view.name === "fair") return "#/fair";
  if (view.name === "query") return `#/q/${view.q}`;
  return view.name === "passage" ? passageAddress(view.q, view.p, view.e) : "#/";
}

/** Goes to a view; with `replace`, without a new entry in the browser history. */
function navigate(view, { replace = false } = {}) {
  if (!replace) {
    window.location.hash = addressOf(view);
    return;
  }
  const samePassage = app.view.name === "passage" && view.name === "passage" && app.view.p === view.p;
  window.history.replaceState(null, "", addressOf(view));
  app.view = view;
  if (samePassage) {
    app.screen.view.e = view.e;
    app.screen.refresh();
    document.querySelector(".card.selected")?.scrollIntoView({ block: "nearest" });
  } else render();
}

async function render() {
  const main = document.getElementById("main");
  main.setAttribute("aria-busy", "true");
  const turn = (app.turn = (app.turn ?? 0) + 1);
  if (app.view.name === "fair") return enterFair();
  app.screen = null;
  app.wholeText = null;
  drawHeader();
  if (app.view.name === "query") await renderQuery(main, app.view.q);
  else if (app.view.name === "passage") await renderPassage(main, app.view);
  else if (app.view.name === "work") await (review.head.live ? served.work(main) : renderChanges(main));
  else await renderOverview(main);
  if (turn === app.turn) main.removeAttribute("aria-busy"); // else another view is being drawn
}

// The header

function drawHeader() {
  redraw(document.getElementById("header"), () => [
    el("a", { href: "#/", class: "brand", title: "exam-pp review", dir: "auto" }, shortened(review.head.title, 40)),
    breadcrumbs(),
    graderChoice(),
    review.head.live ? served.controls() : fileControls(),
    themeButton(),
    button("?", showKeys, { "data-focus": "keys", title: "Keys and settings", "aria-label": "Keys and settings" }),
  ]);
  drawStatus();
}

/** The controls of work that is saved as a file. */
function fileControls() {
  return [
    reviewerField(),
    el("a", { href: "#/", id: "lead", class: "status", hidden: true }, ""),
    el("a", { href: "#/work", id: "status", class: "status" }, ""),
    button("Save edits", askAndSave, { class: "primary", id: "save", "data-focus": "save" }),
    loadButton(),
  ];
}

function breadcrumbs() {
  const { view } = app;
  if (view.q === undefined) return el("span", { class: "push" });
  const query = review.head.queries[view.q];
  return el("nav", { class: "push", "aria-label": "Where you are" }, el("a", { href: `#/q/${view.q}`, dir: "auto" }, shortened(query.text || query.id, 80)));
}

function graderChoice() {
  const { graders, blind } = review.head;
  if (blind || review.head.live || graders.length < 2) return null;
  return choice("Grader", graders.map((name, g) => [g, name]), app.grader, (g) => {
    app.grader = Number(g);
    render();
  });
}

function drawStatus() {
  if (review.head.live) {
    served.status();
    return;
  }
  const ratings = work.ratings.size, labels = work.supports.size, edits = work.document.bank.length;
  const status = document.getElementById("status");
  const { queries } = review.head;
  const rated = isSample() ? `${total(queries.map(askedRatings))} of ${count(total(queries.map(askedPairs)), "sampled pair")} rated` : ratings && count(ratings, "rating");
  const parts = [rated, labels && count(labels, "label"), edits && count(edits, "edit")].filter(Boolean);
  const dirty = hasUnsavedWork();
  const state = !dirty ? "saved" : work.kept ? "not saved" : "not saved, not kept";
  const edited = ratings || labels || edits;
  status.textContent = parts.length ? `${parts.join(", ")}${edited ? `: ${state}` : ""}` : "no edits yet";
  status.title = saveState();
  status.classList.toggle("dirty", dirty);
  drawLead();
  document.title = `${dirty ? "• " : ""}Review of ${review.head.title}`;
}

/** The first systems with the reviewer's ratings, beside the passage that is rated. */
async function drawLead() {
  const { head } = review;
  const lead = document.getElementById("lead");
  const leaderboard = head.leaderboards.find(({ grader }) => grader === head.graders[app.grader]);
  if (!lead || !leaderboard || !work.ratings.size) return;
  const systems = (await standingsOf(leaderboard)).filter(([system]) => system !== "_overall_").sort((a, b) => b[1] - a[1]);
  lead.textContent = systems.slice(0, 3).map(([system, mean, , before]) => `${system} ${(100 * mean).toFixed(1)} %${mean > before ? " ↑" : mean < before ? " ↓" : ""}`).join(" · ");
  lead.hidden = false;
  lead.title = `The first systems by ${shownMetric(leaderboard)}, with your ratings`;
}

// Saving and loading

const NAME_NOTE = "Your ratings are added to the graded file under this name.";

async function loadFile(input) {
  const [file] = input.files;
  input.value = "";
  if (!file) return;
  try {
    const edits = parseEdits(await file.text());
    if (!(await confirmLoading(edits))) return;
    setDocument(edits);
    work.saved = isOfThisFile(edits) && isOfThisBank(edits); // edits of other files must be saved again, with the digests of these files
    storeWork();
    notifyWorkListeners();
    await render();
    announce(`Loaded ${countedWork()}`);
  } catch (error) {
    await ask("This file cannot be used", [el("p", {}, error.message)], null);
  }
}

function isOfThisFile(edits) {
  return edits.graded_sha256 === review.head.graded.sha256;
}

function isOfThisBank(edits) {
  return !edits.bank?.length || edits.bank_sha256 === review.head.bank?.sha256;
}

/** Asks before unsaved work is replaced, and before edits of another file are loaded. */
async function confirmLoading(edits) {
  const warnings = [];
  if (!isOfThisFile(edits)) warnings.push("These edits were made for another graded file, or for another state of this file. If you load them, they are saved for this file.");
  if (!isOfThisBank(edits)) warnings.push("The changes of the bank were made for another bank, or for another state of this bank. If you load them, they are saved for this bank.");
  const unknown = (edits.ratings ?? []).filter((rating) => !review.head.queries.some((query) => query.id === rating.query_id && isAsked(query, rating)));
  if (unknown.length) warnings.push(`${count(unknown.length, "rating is", "ratings are")} for entries that this page does not ask about; they are kept.`);
  const foreign = (edits.supports ?? []).filter(({ query_id: queryId }) => !review.head.queries.some((query) => query.id === queryId));
  if (foreign.length) warnings.push(`${count(foreign.length, "label is", "labels are")} for queries that this page does not show; they are kept.`);
  if (hasUnsavedWork()) warnings.push("Your unsaved work on this page will be replaced.");
  return !warnings.length || ask("Load these edits?", warnings.map((warning) => el("p", {}, warning)), "Load");
}

// Start

async function start() {
  setTheme(storedTheme());
  if (typeof DecompressionStream === "undefined") {
    document.getElementById("main").replaceChildren(el("p", { class: "notice" }, "This page needs a browser of 2023 or later."));
    return;
  }
  await unpackHead();
  startKeys();
  workListeners.push(drawStatus);
  app.view = readAddress();
  await startWork();
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the hash of the address names a view
    document.getElementById("main").focus();
  });
  window.addEventListener("hashchange", () => {
    app.view = readAddress();
    render();
    window.scrollTo(0, 0);
    document.getElementById("main").focus({ preventScroll: true });
  });
  window.addEventListener("beforeprint", () => app.screen?.grid?.drawAll());
  window.addEventListener("afterprint", () => app.screen?.grid && app.screen.refresh());
  app.view = readAddress();
  await render();
  document.documentElement.dataset.ready = "true";
  if (work.damage) await offerReset();
}

whenShown(start);
