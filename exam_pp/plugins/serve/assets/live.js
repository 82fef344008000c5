// The served page: every change is sent at once, and the leaderboard moves with it.
//
// The browser keeps only what is not sent yet, with the numbers that the server knows it by, and the reviewer's
// name. All else comes from the log, so that no click counts twice and none is lost.

const live = {
  by: "",
  client: "",
  n: 0, // number of the last change of this page
  queue: [], // changes that the server has not confirmed
  sending: false,
  wait: 0, // seconds until the next attempt
  stopped: false, // the server refuses this page
  trouble: "", // what is wrong, for the status
  refusal: "", // why the last change was refused
  refused: [], // refused changes with texts, which stay until they are dismissed
  notice: "", // what others did to what is selected
  swapped: 0, // when that was, in milliseconds
  others: 0, // changes of closed pages that are not sent yet
  unable: new Set(), // own changes whose undoing was refused
  late: new Map(), // queries that are fetched when the reviewer is no longer busy, and whether only this page changed them
  isPressed: false, // a button of the mouse is down, and what is redrawn before it is up gets no click
  isBehind: false, // something was not redrawn because of that
  state: { seq: 0, ratings: [], undo: [], last: [] },
  board: null,
  since: { seq: 0, rows: null }, // what scores are compared with; without rows, the start
  visit: 0, // last change that this browser saw before
  solo: null, // the entry that has a leaderboard of its own, with its rows
  draft: null,
  request: 0,
  selection: null,
  aside: null,
  refreshing: null,
};

// Requests

async function askServer(path, body = null) {
  const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, { cache: "no-store", ...options });
  if (answer.ok) return answer.json(); // which fails if the server ends in the middle
  const { message, field } = await answer.json().catch(() => ({ message: `The server answers ${answer.status}.` }));
  throw Object.assign(new Error(message), { status: answer.status, field });
}

function identity() {
  return { log: review.head.live.log, by: live.by, client: live.client };
}

async function getState(by = live.by) {
  return askServer(`state?by=${encodeURIComponent(by)}`);
}

/** Asks the server for a query, with the grades of others. */
async function fetchQuery(index) {
  const reads = app.view.q === index ? "&reads=1" : "";
  const { at, graders, query, chunk, spans, changes } = await askServer(`query/${index}?by=${encodeURIComponent(live.by)}${reads}`);
  const isOld = review.head.queries[index].at > at; // answers overtake each other
  if (!isOld) {
    review.head.graders = graders;
    review.head.queries[index] = { ...query, at };
  }
  return Object.assign(new Query(index, query, chunk, []), { spans, changes, isOld });
}

/** What a question to the server gives, as soon as the server answers. */
async function patiently(question) {
  for (;;) {
    try {
      return await question();
    } catch (error) {
      noteTrouble(error);
      if (error.status) throw error;
      await pause(1000);
    }
  }
}

function pause(milliseconds) {
  return new Promise((done) => { setTimeout(done, milliseconds); });
}

function troubleOf(error) {
  return error.status ? error.message : "The server does not answer; nothing is lost.";
}

function noteTrouble(error) {
  if (!live.stopped) live.trouble = troubleOf(error);
  served.status();
}

// What the browser keeps, unless its settings forbid that

function keep(key, value, storage = "localStorage") {
  try {
    if (value === null) window[storage].removeItem(key);
    else window[storage].setItem(key, value);
  } catch {
    live.keepsNothing = true;
  }
}

/** The kept values of all keys that begin so. */
function kept(prefix, storage = "localStorage") {
  try {
    return new Map(Object.entries(window[storage]).filter(([key]) => key.startsWith(prefix)));
  } catch {
    return new Map();
  }
}

// The queue of changes that are not sent yet

function queueKey(client) {
  return `exam_pp.live:${review.head.live.log}:${client}`;
}

function storeQueue(client, by, events) {
  keep(queueKey(client), events.length ? JSON.stringify({ by, events }) : null);
}

/** Sends a change, a comment after a pause or when its field is left; of two ratings in a row of a pair, the last one is sent. */
function sendChange(change) {
  const last = live.queue.at(-1);
  const isSame = last && !last.sent && change.op === "rate" && last.op === "rate" && last.key === change.key && last.query_id === change.query_id;
  if (isSame && last.rating === change.rating) live.queue.pop();
  live.queue.push({ ...change, n: ++live.n });
  storeQueue(live.client, live.by, live.queue);
  served.status();
  clearTimeout(live.typing);
  if (isTyping()) live.typing = setTimeout(flush, 2000);
  else flush();
}

/** Writes changes of a page to the log; those that do not fit come back with the error, the others count. */
async function deliver(by, client, events) {
  const place = events.findIndex(({ op, of }) => op === "undo" && of === undefined);
  if (place >= 0) { // an undo is of what counts when its turn comes, and later changes wait for it
    const before = place ? await deliver(by, client, events.slice(0, place)) : [];
    const undo = (await getState(by)).undo.filter(({ seq }) => !live.unable.has(seq)).at(-1);
    announce(undo ? `Undone: ${undo.op}` : "Nothing to undo");
    if (undo) events[place].of = undo.seq;
    return [...before, ...await deliver(by, client, events.slice(undo ? place : place + 1))];
  }
  if (!events.length) return [];
  try {
    const { seq } = await askServer("events", { ...identity(), by, client, events: events.map(({ sent, ...event }) => event) });
    live.state.seq = Math.max(live.state.seq, seq);
    return [];
  } catch (error) {
    if (error.status !== 413 && error.status !== 422) throw error;
    if (events.length === 1) {
      if (events[0].op === "undo") live.unable.add(events[0].of);
      return [{ event: events[0], error }];
    }
  }
  const refused = [];
  for (const event of events) refused.push(...await deliver(by, client, [event]));
  return refused;
}

async function flush() {
  if (live.sending || !live.queue.length || live.stopped) return;
  live.sending = true;
  const batch = live.queue.slice(0, 500);
  batch.forEach((event) => { event.sent = true; });
  try {
    const refused = await deliver(live.by, live.client, batch);
    live.queue = live.queue.filter((event) => !batch.includes(event));
    storeQueue(live.client, live.by, live.queue);
    Object.assign(live, { wait: 0, trouble: "", refusal: "" });
    refused.forEach(takeBack);
  } catch (error) {
    noteTrouble(error);
    if (error.status >= 400 && error.status < 500) live.stopped = true;
    else {
      live.wait = Math.min(30, Math.max(1, 2 * live.wait));
      setTimeout(flush, 1000 * live.wait);
    }
  }
  live.sending = false;
  served.status();
  if (live.queue.length && !live.wait) flush();
}

/** Shows a change that was refused, and what the log has in its place. */
function takeBack({ event: { n, sent, ...change }, error }) {
  const text = change.comment ?? change.text ?? change.value;
  const said = `Not saved (${DONE[change.op]}${text ? ` “${text}”` : ""}): ${error.message}`;
  const isDrafted = change.op === "add" || OPS.some(([op]) => op === change.op);
  if (!live.draft && isDrafted) openDraft(change, error.message);
  else if (text) keepRefused([...live.refused, said]);
  else live.refusal = said;
  refresh();
}

/** Keeps what was refused until it is dismissed, also when this tab is loaded again. */
function keepRefused(refused) {
  live.refused = refused;
  keep(keyOf("refused"), refused.length ? JSON.stringify(refused) : null, "sessionStorage");
  served.status();
}

/** Sends what other pages of this browser have not sent, such as those that are closed. */
async function adoptQueues() {
  const prefix = queueKey("");
  clearTimeout(live.adopting);
  live.others = 0;
  for (const [key, text] of kept(prefix)) {
    const client = key.slice(prefix.length);
    if (client === live.client) continue;
    const { by, events } = JSON.parse(text);
    try {
      for (let start = 0; start < events.length; start += 500) {
        const refused = await deliver(by, client, events.slice(start, start + 500));
        refused.forEach(takeBack);
      }
      if (kept(key).get(key) === text) keep(key, null); // else its page is open and has more
    } catch (error) {
      live.others += events.length;
      noteTrouble(error);
      live.adopting = setTimeout(adoptQueues, 5000);
    }
  }
  served.status();
}

// What comes from the server

/** Takes the log's state over, with what is still to be sent. */
async function refresh() {
  live.refreshing ??= (async () => {
    await pause(20); // several messages, one question
    live.refreshing = null;
    const state = await getState();
    if (state.seq < live.state.seq) return;
    if (state.seq > live.state.seq && state.last.at(-1)?.by !== live.by) live.unable.clear();
    live.state = state;
    takeBoard(state.board);
    takeRatings();
    keep(keyOf("seen"), live.state.seq);
    drawBoard();
    document.getElementById("cost")?.replaceChildren(costOf(live.draft).text);
    served.status();
    redrawScreen();
    if (!live.stopped) live.trouble = "";
    served.status();
  })().catch(noteTrouble);
  return live.refreshing;
}

/** Takes a leaderboard over, unless it is older than the shown one: answers and messages overtake each other. */
function takeBoard(board) {
  if (!board || live.board?.at > board.at) return;
  live.board = board;
  if (live.solo) showSolo(live.solo);
}

/** The key of what a browser keeps of this log: `seen`, how much of it, a `draft`, what was `refused`. */
function keyOf(what) {
  return `exam_pp.live.${what}:${review.head.live.log}`;
}

function takeRatings() {
  setDocument({ ...emptyDocument(), ratings: live.state.ratings, reviewer: live.by });
  for (const { n, op, sent, ...event } of live.queue) {
    if (op === "rate") work.ratings.set(ratingKey(event), event);
    if (op === "unrate") work.ratings.delete(ratingKey(event));
  }
}

function isTyping() {
  return Boolean(document.activeElement?.closest("main textarea, main input, dialog"));
}

/** Whether the reviewer types or clicks, and nothing may move. */
function isBusy() {
  return live.isPressed || isTyping();
}

function redrawScreen() {
  live.isBehind ||= live.isPressed;
  if (isBusy()) return;
  if (app.view.name === "work") served.work(document.getElementById("main"));
  else app.screen?.refresh?.();
}

/** Fetches queries anew whose table changed, perhaps by this page; the shown one keeps its place. */
async function renewQueries(indexes, isMine = false) {
  for (const index of indexes) {
    const query = await fetchQuery(index);
    const known = await review.opened.get(index);
    if (!known || query.isOld) continue;
    if (app.view.q === index && isBusy()) { // what is typed is about what is shown
      live.late.set(index, isMine && live.late.get(index) !== false);
      continue;
    }
    const isSame = JSON.stringify(known.entries) === JSON.stringify(query.entries);
    const view = app.view.name === "query" ? queryView(index) : app.view;
    const passage = view.order?.[view.row];
    const { e, notice } = follow(known, query, view.e);
    const sorted = queryView(index);
    if (/^e\d/u.test(sorted.sort)) {
      const column = follow(known, query, Number(sorted.sort.slice(1))).e;
      sorted.sort = column < 0 ? "relevance" : `e${column}`;
    }
    Object.assign(known, query);
    fair.orders.clear();
    if (live.draft?.q === index && isGone(live.draft) !== (live.draft.problem === GONE)) {
      live.draft.problem = isGone(live.draft) ? GONE : "";
      drawDraft();
    }
    if (app.view.q !== index || isSame) redrawScreen();
    else await showRenewed(known, e, passage);
    if (notice && app.view.q === index && !isMine) Object.assign(live, { notice, swapped: Date.now() });
    served.status();
  }
}

/** Where the selected entry of a query is now, −1 if it is gone, and a notice of what others did to it. */
function follow(before, now, e) {
  const ids = new Set([before.entries[e]?.id]);
  const place = () => now.entries.findIndex(({ id }) => ids.has(id));
  if (place() >= 0 || !before.entries[e]) return { e: place() };
  const changes = [...before.changes, ...now.changes];
  const join = ({ id, to }) => to && (ids.has(id) || ids.has(to)) && ids.add(id).add(to); // also of what is undone
  changes.forEach(() => changes.forEach(join));
  const isMine = now.changes.filter(({ id }) => ids.has(id)).at(-1)?.mine;
  return { e: place(), notice: !isMine && `Somebody ${place() < 0 ? "removed" : "reworded"} the selected entry.` };
}

/** Draws the shown query with its new entries, of which `e` is selected. */
async function showRenewed(query, e, passage) {
  const { name, q, p } = app.view;
  if (app.view.fair) {
    const isShown = (pair) => pair.q === q && pair.p === p && pair.e === e;
    const others = fairState().pairs.filter((pair) => !isShown(pair));
    Object.assign(fair, { queue: e < 0 ? others : [{ q, p, e }, ...others], at: 0 });
    await showFair();
    return;
  }
  if (name === "query" && passage !== undefined) {
    const view = queryView(q);
    view.e = Math.max(0, e);
    arrangePassages(query, view);
    view.row = Math.max(0, view.order.indexOf(passage));
  }
  if (name === "passage") {
    if (e >= 0) app.view.e = e;
    window.history.replaceState(null, "", addressOf(app.view));
  }
  await render();
}

/** Forgets the notice with the next key or click; what was meant for an entry that has just been reworded does nothing. */
function forgetNotice(event) {
  if (!live.notice || event.target.closest?.("textarea, input")) return;
  if (Date.now() - live.swapped < 700) {
    event.preventDefault();
    event.stopImmediatePropagation();
    return;
  }
  live.notice = "";
  served.status();
}

/** Redraws what has changed since the button of the mouse was pressed, after the click. */
function release({ buttons }) {
  if (!live.isPressed || buttons) return;
  setTimeout(() => {
    live.isPressed = false;
    leaveField();
    if (!live.isBehind) return; // a redraw would end the selection of a text
    live.isBehind = false;
    redrawScreen();
    drawBoard();
  });
}

/** The reviewer may have ended to type. */
function leaveField() {
  if (isBusy()) return;
  flush();
  const late = [...live.late];
  live.late.clear();
  for (const [index, isMine] of late) renewQueries([index], isMine).catch(noteTrouble);
}

function hear(message) {
  const isMine = message.client === live.client && message.request === live.draft?.request;
  if (message.kind === "opened") catchUp();
  else if (message.kind === "broken") noteTrouble({});
  else if (message.kind === "changed") {
    refresh();
    renewQueries(message.queries, message.client === live.client).catch(noteTrouble);
  } else if (message.kind === "board") {
    takeBoard(message);
    drawBoard();
  } else if (message.kind === "progress" && (isMine || message.client === undefined)) {
    live.progress = message;
    document.getElementById("progress")?.replaceChildren(progressText());
  } else if (isMine) {
    Object.assign(live.draft, { asked: false, impact: message.kind === "impact" ? message : null, problem: message.kind === "error" ? message.message : "" });
    live.progress = null;
    drawDraft();
    document.querySelector("#impact h3")?.scrollIntoView({ block: "nearest" });
    announce(message.kind === "impact" ? impactSummary(message) : message.message);
  }
}

/** The stream is open, perhaps after a break, and perhaps of a server that was started again. */
function catchUp() {
  for (const known of [live.board ?? {}, ...review.head.queries]) known.at = -1; // its numbers begin anew
  refresh();
  flush();
  adoptQueues(); // before a newer rating
  renewQueries([...review.opened.keys()]).catch(noteTrouble);
  if (live.draft?.asked) {
    live.draft.asked = false;
    checkImpact();
  }
}

/** One tab of the browser holds the stream and tells the others, because a browser opens six connections. */
function listen() {
  const name = `exam_pp.live:${review.head.live.log}`;
  const channel = new BroadcastChannel(name);
  channel.onmessage = ({ data }) => hear(data);
  window.navigator.locks.request(name, () => new Promise(() => {
    const stream = new EventSource("stream");
    stream.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      channel.postMessage(message);
      hear(message);
    };
    stream.onerror = () => {
      channel.postMessage({ kind: "broken" });
      noteTrouble({});
    };
    stream.onopen = () => {
      channel.postMessage({ kind: "opened" });
      catchUp();
    };
  }));
}

// The draft of an entry: text, place, impact, commit

const OPS = [["reword", "reword"], ["weight", "weight"], ["importance", "importance"], ["add_gold_answer", "add a gold answer"], ["remove", "remove"]];

/** Opens a draft; `problem` says why a change was refused. */
function openDraft(change, problem = "") {
  const index = review.head.queries.findIndex(({ id }) => id === change.query_id);
  const query = review.head.queries[index];
  const entry = query.entries.find(({ id }) => id === change.id);
  const spans = (app.screen?.query?.spans ?? []).filter((span) => span.entry === entry?.text).map(({ entry: _, by, ...span }) => span);
  live.draft = {
    text: entry?.text ?? "", spans, importance: entry?.importance ?? "", weight: entry?.weight ?? 1, value: "", reason: "",
    kind: review.head.kinds[0], facet_id: query.entries.find(({ facet }) => facet)?.facet, isTyped: Boolean(problem || change.spans?.length), ...change, q: index, entry, problem, impact: null, request: 0,
  };
  drawDraft();
  document.getElementById("draft").scrollIntoView({ block: "nearest" });
  (document.querySelector("#draft textarea") ?? document.querySelector("#draft button.primary"))?.focus();
}

const GONE = "Somebody removed or reworded this entry meanwhile.";

/** Whether the bank no longer has the entry that a draft changes. */
function isGone({ id, query_id: queryId }) {
  return Boolean(id) && !review.head.queries.find((query) => query.id === queryId).entries.some((entry) => entry.id === id);
}

/** Opens a draft, in place of an open one that its author drops. */
async function startDraft(change) {
  const { draft } = live;
  if (draft?.isTyped && !(await ask("Replace the open draft?", el("p", { dir: "auto" }, draft.text || draft.reason), "Replace"))) return;
  discardDraft();
  openDraft(change);
}

/** Keeps the draft for when this tab is loaded again. */
function keepDraft() {
  const { entry, q, impact, problem, asked, request, ...change } = live.draft ?? {};
  keep(keyOf("draft"), live.draft && JSON.stringify(change), "sessionStorage");
}

/** A new entry from the selected text; a second selection joins the draft. */
function draftFromSelection() {
  const { selection } = live;
  const query = app.screen?.query;
  if (!query) return false;
  const prefill = selection && review.head.kinds.includes("nugget") ? selection.text : "";
  if (live.draft?.op !== "add" || live.draft.query_id !== query.id) startDraft({ op: "add", query_id: query.id, text: prefill, spans: selection ? [selection] : [] });
  else if (selection) {
    live.draft.spans.push(selection);
    drawDraft();
  }
  live.selection = null;
  drawSelection();
  return true;
}

/** The change that a draft stands for. */
function changeOf({ op, query_id, id, text, spans, importance, weight, value, reason, kind, facet_id: facet }) {
  const change = { op, query_id, ...(id ? { id } : {}), ...(reason.trim() ? { reason: reason.trim() } : {}) };
  if (op === "add" || op === "reword") Object.assign(change, { text: text.trim() }, spans.length ? { spans } : {});
  if (op === "add") {
    Object.assign(change, importance ? { importance } : {}, Number(weight) === 1 ? {} : { weight: Number(weight) });
    if (review.head.kinds.length > 1) change.kind = kind;
    if (facet) change.facet_id = facet;
  }
  if (op === "weight") change.value = Number(weight);
  if (op === "importance") change.value = importance;
  if (op === "add_gold_answer") change.value = value.trim();
  return change;
}

/** Why a draft cannot be a change yet; empty if it can. */
function lacks({ op, text, importance, weight, value }) {
  if ((op === "add" || op === "reword") && !text.trim()) return "Enter a text.";
  if ((op === "add" ? review.head.live.importance : op === "importance") && !importance) return "Choose an importance: scores need it.";
  if ((op === "add" || op === "weight") && !Number.isFinite(Number(weight || "x"))) return "Enter a weight.";
  return op === "add_gold_answer" && !value.trim() ? "Enter an answer." : "";
}

/** Whether the draft is complete, and its author agrees to many requests. */
async function isReady(draft) {
  draft.problem = lacks(draft);
  if (draft.problem) return false;
  const { requests, text } = costOf(draft);
  if (draft.impact || !review.head.live.remote || requests <= 200) return true;
  return ask("Send many requests?", el("p", {}, text), "Send");
}

async function checkImpact() {
  const { draft } = live;
  if (!draft || draft.asked || review.head.blind) return Boolean(draft);
  draft.impact = null;
  if (await isReady(draft)) {
    Object.assign(draft, { asked: true, request: ++live.request });
    try {
      await askServer("preview", { ...identity(), request: draft.request, change: changeOf(draft) });
    } catch (error) {
      Object.assign(draft, { asked: false, problem: troubleOf(error) });
    }
  }
  drawDraft();
  return true;
}

function cancelImpact({ asked, request }) {
  if (asked) askServer("cancel", { ...identity(), request }).catch(() => {});
}

/** Forgets the impact of a draft that is another one now, and the question for it. */
function forgetImpact(draft) {
  if (!draft.asked && !draft.impact) return;
  cancelImpact(draft);
  Object.assign(draft, { asked: false, impact: null, request: 0 });
  document.getElementById("impact").replaceChildren();
  fill(document.getElementById("draft-actions"), draftActions(draft));
}

async function commitDraft() {
  const { draft } = live;
  if (!draft || !(await isReady(draft)) || live.draft !== draft) return drawDraft();
  cancelImpact(draft);
  live.draft = null;
  sendChange(changeOf(draft));
  drawDraft();
  return announce("Committed");
}

function discardDraft() {
  const { draft } = live;
  if (!draft) return;
  cancelImpact(draft);
  Object.assign(live, { draft: null, refusal: "" });
  served.status();
  if (draft.impact) sendChange({ op: "discard", change: changeOf(draft) });
  drawDraft();
  announce("Discarded");
}

/** What the judge has to do for a draft: requests, and a line. */
function costOf({ op, q }) {
  const { judge, remote } = review.head.live;
  const asks = op === "add" || op === "reword";
  const requests = asks ? review.head.queries[q].passages : 0;
  if (!asks) return { requests, text: "no grading" };
  const seconds = live.state.seconds ? ` · about ${Math.max(0.1, live.state.seconds * requests).toFixed(1)} s` : "";
  const query = app.screen?.query?.index === q ? app.screen.query : null;
  const ofPrompt = (review.head.prompt.pieces ?? []).reduce((sum, [piece]) => sum + piece.length, 0);
  const letters = query && remote ? query.ids.reduce((sum, _, p) => sum + query.text(p).length + ofPrompt, 0) : 0;
  const tokens = letters ? ` · about ${count(Math.round(letters / 4), "token")}` : "";
  return { requests, text: `${count(requests, "pair")} · ${judge} ${remote ? "at its endpoint" : "on this machine"}${tokens}${seconds}` };
}

function progressText() {
  return live.progress ? `${live.progress.done} of ${live.progress.total}` : "…";
}

function drawDraft() {
  const panel = document.getElementById("draft");
  const { draft } = live;
  keepDraft();
  panel.hidden = !draft;
  redrawScreen(); // which marks the draft's text
  if (!draft) return fill(panel);
  const set = (name) => (event) => {
    Object.assign(draft, { [name]: event.target.value, isTyped: true });
    keepDraft();
    if (name !== "reason") forgetImpact(draft);
  };
  const choose = (name, label, options) => choice(label, options, draft[name] ?? "", (value) => { draft[name] = value; forgetImpact(draft); drawDraft(); });
  const { live: { importance, weights }, criteria, kinds } = review.head;
  const isText = draft.op === "add" || draft.op === "reword";
  panel.onkeydown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || !event.target.closest("textarea, input")) return;
    event.preventDefault();
    if (draft.impact || review.head.blind) commitDraft();
    else checkImpact();
  };
  const facets = [...new Set(review.head.queries[draft.q].entries.map(({ facet }) => facet).filter(Boolean))];
  return redraw(panel, () => [
    el("h2", {}, draft.op === "add" ? "New entry" : "Change of an entry"),
    draft.entry && el("p", { class: "faint", dir: "auto" }, draft.entry.text),
    draft.spans.map((span, index) => el("p", { class: "chips" }, el("span", { class: "chip", title: span.text, dir: "auto" }, `${span.passage_id} [${span.start}–${span.end}] “${shortened(span.text, 40)}”`), button("✕", () => { draft.spans.splice(index, 1); drawDraft(); }, { class: "small", "aria-label": `Remove the selection ${index + 1}` }))),
    draft.op !== "add" && choose("op", "Change", OPS.filter(([op]) => (op !== "add_gold_answer" || draft.entry?.kind === "question") && (op !== "importance" || importance || (kinds.includes("nugget") && !criteria)))),
    isText && field("Text", el("textarea", { rows: 3, required: true, dir: "auto", oninput: set("text"), "data-focus": "draft-text" }, draft.text)),
    draft.op === "add_gold_answer" && field("Answer", el("input", { type: "text", value: draft.value, oninput: set("value"), dir: "auto", "data-focus": "draft-value" })),
    el("p", { class: "chips" },
      draft.op === "add" && kinds.length > 1 && choose("kind", "Kind", kinds.map((kind) => [kind, kind])),
      draft.op === "add" && facets.length > 0 && choose("facet_id", "Facet", facets.map((facet) => [facet, facet])),
      (draft.op === "importance" || (draft.op === "add" && importance)) && choose("importance", "Importance", [["", "choose"], ["vital", "vital (must)"], ["okay", "okay (should)"]]),
      (draft.op === "weight" || (draft.op === "add" && (weights || criteria || !importance))) && el("label", { class: "field" }, el("span", {}, "Weight (below 0: to avoid)"), el("input", { type: "number", step: "any", value: draft.weight, oninput: set("weight"), "data-focus": "draft-weight" })),
    ),
    field("Reason (optional)", el("input", { type: "text", value: draft.reason, oninput: set("reason"), dir: "auto", "data-focus": "draft-reason" })),
    el("p", { class: "faint", id: "cost" }, costOf(draft).text),
    draft.problem && el("p", { class: "notice", role: "alert" }, draft.problem),
    el("p", { class: "actions", id: "draft-actions" }, draftActions(draft)),
    el("div", { id: "impact" }, draft.impact && impactView(draft.impact)),
  ]);
}

function draftActions(draft) {
  return [
    draft.asked
      ? [el("span", { id: "progress", role: "status" }, progressText()), button("Cancel", () => cancelImpact(draft), { "data-focus": "draft-check" })]
      : !review.head.blind && button("Check impact", checkImpact, { class: draft.impact ? "" : "primary", "data-focus": "draft-check", title: "key: i" }),
    button("Commit", commitDraft, { class: draft.impact ? "primary" : "", "data-focus": "draft-commit", title: review.head.blind ? "key: Enter" : "key: Enter, once the impact is shown" }),
    button("Discard", discardDraft, { "data-focus": "draft-discard" }),
  ];
}

// The impact

function places([first, last]) {
  if (!first) return "";
  return first === last ? String(first) : `${first}–${last}`;
}

function percent(value) {
  return (100 * value).toFixed(1);
}

function signed(difference) {
  const text = Math.abs(100 * difference) < 0.05 ? "" : `${difference > 0 ? "+" : "−"}${percent(Math.abs(difference))}`;
  return el("span", { class: difference > 0 ? "better" : "worse" }, text);
}

function impactSummary({ covers, systems, covered, asked, moved, avoid }) {
  const what = avoid ? "Made" : "Covered";
  const who = covers === null ? "" : `${what} by ${covered} of ${asked} passages and ${covers} of ${systems} systems. `;
  return worded(`${who}${moved.length ? `${count(moved.length, "system")} would have another place.` : "No system has another place."}`);
}

function impactView(impact) {
  const { rows, moved, covers, systems, passages, separates, avoid } = impact;
  const { op } = live.draft;
  const moves = ({ system }) => moved.includes(system);
  const first = [...rows.filter(moves), ...rows.filter((row) => row.covers && !moves(row))];
  const shown = first.length ? first : rows.slice(0, 3);
  const rest = rows.filter((row) => !shown.includes(row));
  return [
    el("h3", {}, "Impact"),
    el("p", {}, impactSummary(impact)),
    covers !== null && el("div", { class: "covers", title: `${covers} of ${systems} systems` }, el("meter", { class: avoid ? "avoid" : null, min: 0, max: systems, value: covers, "aria-label": `Systems that ${avoid ? "make" : "cover"} it` }), !separates && el("span", { class: "faint" }, " does not separate systems")),
    impactTable(shown, moved, impact),
    rest.length > 0 && el("details", {}, el("summary", {}, `${count(rest.length, "more system")}`), impactTable(rest, moved, impact), op === "add" && !avoid && el("p", { class: "faint" }, "Systems that miss an entry lose a little, because the query has one entry more.")),
    passages.length > 0 && el("details", {}, el("summary", {}, worded(`Passages that ${avoid ? "make" : "cover"} it${op === "reword" ? ", or did before" : ""}`)), el("ul", {}, passages.map(({ id, rating, old }) => el("li", { dir: "auto" }, passageByName(id), ` ${rating === null ? "ungraded" : step(rating).label}`, old !== null && el("span", { class: "faint" }, ` (before: ${step(old).label})`))))),
  ];
}

function passageByName(id, label = id) {
  const query = app.screen?.query;
  const p = query ? query.ids.indexOf(id) : -1;
  return p < 0 || query.id !== live.draft.query_id ? label : el("a", { href: passageAddress(query.index, p, 0), title: id, "aria-label": id }, label);
}

function impactTable(rows, moved, { covers }) {
  return el("table", {}, tableHead([...(covers === null ? [] : [""]), "System", "Score", "Places"]), el("tbody", {}, rows.map(({ system, before, after, covers: by }) => el(
    "tr",
    { class: moved.includes(system) ? "moved" : null },
    covers !== null && el("td", { class: by ? "better" : "worse" }, by ? passageByName(by, "✓") : "–"),
    el("th", { scope: "row", dir: "auto" }, system),
    el("td", { class: "number" }, `${percent(before.mean)} → ${percent(after.mean)} `, signed(after.mean - before.mean)),
    el("td", { class: "number" }, moved.includes(system) ? `${places(before.places)} → ${places(after.places)}` : places(after.places)),
  ))));
}

// The leaderboard, and what happened

function drawBoard() {
  const { board, solo } = live;
  live.isBehind ||= live.isPressed;
  if (!live.aside || live.isPressed) return;
  redraw(document.getElementById("board"), () => [
    !review.head.blind && (solo?.rows ? soloView(solo) : board && boardView(board)),
    live.state.last.length > 0 && el("h2", {}, "Last changes ", button("↶", undoLast, { class: "small", "data-focus": "undo-last", title: "key: z", "aria-label": "Undo your last change" })),
    el("ul", { class: "plain" }, live.state.last.slice(-5).reverse().map((event) => el("li", {}, changeText(event)))),
  ]);
  drawLine();
}

const PLACES = { judge: "Places by the judge", sample: "Places by estimates" };

function boardView({ headline = "", verdict, rows, pending, basis }) {
  const before = ({ system, start }) => (live.since.rows ? live.since.rows.get(system) ?? start : start);
  return [
    el("h2", {}, "Leaderboard"),
    el("p", { class: "verdict" }, el("strong", {}, headline), el("span", { class: "faint" }, verdict.startsWith(headline) ? verdict.slice(headline.length) : ` ${verdict}`)),
    pending > 0 && el("p", { class: "notice" }, `${count(pending, "new entry is", "new entries are")} not graded yet and ${pending === 1 ? "does" : "do"} not count. ${live.state.problem ?? ""}`),
    live.state.seq > 0 && el("p", {}, choice("Change since", sinceOptions(), live.since.seq, compareSince)),
    standings(rows, before, PLACES[basis] ?? "Places"),
    basis === "sample" && el("p", { class: "faint" }, "Scores count all ratings; places and the sentence above rest on estimates from the fair sample."),
  ];
}

/** Systems with their scores, and with places and changes against the row `before`, if there is such a row. */
function standings(rows, before = null, named = "Places") {
  const moved = before !== null && rows.some((row) => Math.abs(row.mean - before(row).mean) > 1e-12);
  const range = (row) => {
    const [then, now] = [places(before(row).places), places(row.places)];
    return then === now ? now : `${then} → ${now}`;
  };
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Leaderboard" }, el("table", { id: "standings" }, tableHead(["System", "%", ...(before ? [named] : []), ...(moved ? ["Change"] : [])]), el("tbody", {}, rows.map((row) => el(
    "tr",
    { "data-system": row.system, "data-mean": row.mean },
    el("th", { scope: "row", dir: "auto" }, row.system),
    el("td", { class: "number" }, percent(row.mean)),
    before && el("td", { class: "number" }, range(row)),
    moved && el("td", { class: "number" }, signed(row.mean - before(row).mean)),
  )))));
}

/** What the leaderboard can be compared with: the start, this browser's last visit, and any change. */
function sinceOptions() {
  const { since, visit, state: { last, seq } } = live;
  const known = new Map([[0, "the start"], ...(visit ? [[visit, "your last visit"]] : [])]);
  for (const { seq: number, by, op } of [...last].reverse()) if (!known.has(number)) known.set(number, `change ${number}, ${by} ${DONE[op]}`);
  if (!known.has(since.seq)) known.set(since.seq, `change ${since.seq}`);
  return [...[...known].filter(([number]) => number < seq || number === since.seq), ["other", "another change …"]];
}

/** Compares the leaderboard with that after a change. */
async function compareSince(chosen) {
  const number = el("input", { type: "number", min: 0, max: live.state.seq, required: true });
  const isOther = chosen === "other";
  if (isOther && !(await ask("Compare with the leaderboard after a change", field(`Number, up to ${live.state.seq}`, number), "Compare"))) return drawBoard();
  const seq = Number(isOther ? number.value : chosen);
  try {
    const rows = seq && new Map((await askServer(`since/${seq}`)).rows.map((row) => [row.system, row]));
    live.since = { seq, rows: rows || null };
  } catch (error) {
    noteTrouble(error);
  }
  return drawBoard();
}

// The leaderboard of one entry

function soloView({ text, rows, avoid }) {
  const scoring = rows.filter(({ mean }) => mean > 0).length;
  return [
    el("h2", {}, "Leaderboard of one entry"),
    el("p", { dir: "auto" }, text),
    el("p", { class: "faint" }, `${scoring} of ${count(rows.length, "system")} ${scoring === 1 ? "scores" : "score"} with it alone${avoid ? ", which is a mistake to avoid" : ""}.`),
    standings(rows),
    el("p", {}, button("All entries", () => showSolo(null), { "data-focus": "solo", title: "key: o" })),
  ];
}

/** Shows the leaderboard with one entry alone, or the whole one again. */
async function showSolo(entry) {
  live.solo = entry;
  try {
    if (entry) Object.assign(entry, await askServer(`solo?query=${encodeURIComponent(entry.query_id)}&entry=${encodeURIComponent(entry.id)}`));
  } catch (error) {
    if (live.solo === entry) live.solo = null;
    noteTrouble(error);
  }
  drawBoard();
}

function toggleSolo(query, e) {
  const { id, text } = query.entries[e];
  const isShown = live.solo?.id === id && live.solo.query_id === query.id;
  showSolo(isShown ? null : { id, text, query_id: query.id, avoid: avoids(query.entries[e]) });
  showAside();
}

function soloByKey() {
  const pair = currentPair();
  if (review.head.blind || !pair) return false;
  toggleSolo(pair.query, pair.e);
  return true;
}

function statusText() {
  const trouble = live.trouble || [live.refusal, ...live.refused, live.notice].filter(Boolean).join(" ");
  const unsent = live.queue.length + live.others;
  const unkept = live.keepsNothing ? ". This browser keeps nothing: leave the page open until all is saved." : "";
  return (unsent ? `${unsent} not saved yet${trouble ? `: ${trouble}` : ""}` : trouble || `✓ saved ${live.state.seq}`) + unkept;
}

/** The leaderboard as one line, for narrow windows. */
function drawLine() {
  const rows = live.board?.rows ?? [];
  const [first, ...others] = rows;
  const text = first ? [el("strong", {}, `${first.system} ${percent(first.mean)}`), ` ${places(first.places)} · `, others.slice(0, 2).map(({ system, mean }) => `${system} ${percent(mean)}`).join(" · ")] : ["Entries and changes"];
  fill(document.getElementById("line"), statusText(), " · ", text, document.body.classList.contains("with-aside") ? " ▾" : " ▴");
}

function showAside(shown = true) {
  document.body.classList.toggle("with-aside", shown);
  drawLine();
}

const DONE = { rate: "rated", unrate: "removed a rating of", resolve: "resolved", add: "added an entry", reword: "reworded an entry", remove: "removed an entry", weight: "weighted an entry", importance: "changed an importance", add_gold_answer: "added a gold answer", undo: "undid a change", preview: "looked at a draft", discard: "discarded a draft" };

function changeText({ by, op, rating, text, change, passage_id: passageId, query_id: queryId = change?.query_id, at }) {
  const what = rating === undefined ? shortened(text ?? change?.text ?? "", 60) : `${passageId}: ${step(rating).label}`;
  return [el("strong", {}, by), ` ${DONE[op]} ${what}${queryId ? ` (${queryId})` : ""} `, el("time", { datetime: at, class: "faint" }, new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }))];
}

// Disagreements and everything that people did

function openDisputes() {
  return (live.state.disputes ?? []).filter(({ resolved }) => !resolved);
}

async function drawWork(main) {
  const disputes = live.state.disputes ?? [];
  const rows = await Promise.all(disputes.map(locate));
  if (app.view.name !== "work") return;
  fill(
    main,
    el("h1", {}, review.head.blind ? "Changes" : "Disagreements and changes"),
    el("p", { class: "lead" }, `${count(work.ratings.size, "rating")} by you. Every change is saved at once; exam-pp run takes them up.`),
    !review.head.blind && [
      el("h2", {}, "Disagreements"),
      disputes.length ? el("div", { class: "scroll" }, disputeTable(rows)) : el("p", {}, "People agree on all pairs that several rated."),
      el("h2", {}, "Export"),
      el("p", { class: "chips" }, [["bank", "bank of entries"], ["table", "bank as a table, without its history"], [`edits?by=${encodeURIComponent(live.by)}`, "your ratings"], ["log", "log of all changes"]].map(([name, label]) => el("a", { href: `export/${name}`, class: "chip" }, label))),
    ],
    el("h2", {}, "Last changes"),
    el("ul", {}, [...live.state.last].reverse().map((event) => el("li", {}, changeText(event)))),
  );
}

function disputeTable(rows) {
  return el("table", { class: "list", id: "disputes" }, tableHead(["Query", worded("Passage"), "Entry", "Ratings", "Resolve as"]), el("tbody", {}, rows.map(({ rating: pair, ...place }) => el(
    "tr",
    {},
    el("td", { dir: "auto" }, queryLink(pair.query_id)),
    el("td", { dir: "auto" }, passageLink({ rating: pair, ...place })),
    el("td", { dir: "auto" }, entryText(pair)),
    el("td", {}, pair.ratings.map(({ by, rating, comment, resolves }) => el("div", { dir: "auto" }, `${by}: ${step(rating).label}${resolves ? " (resolved)" : ""}`, comment && el("span", { class: "faint" }, ` ${comment}`)))),
    el("td", { class: "resolve" }, el("span", { class: "chips" }, review.head.scale.map(([rating, label]) => button(label, () => resolvePair(pair, rating), { class: `small${pair.ratings.some((each) => each.resolves && each.rating === rating) ? " primary" : ""}`, title: `Resolve as ${label}` })))),
  ))));
}

function resolvePair({ query_id: queryId, passage_id: passageId, id }, rating) {
  sendChange({ op: "resolve", query_id: queryId, passage_id: passageId, id, rating });
}

// Undo

/** Undoes the last own change that counts and can be undone; pressed again, the one before. */
function undoLast() {
  sendChange({ op: "undo" });
  return true;
}

// The selected text

/** The selected text of the shown passage with its place in code points; null without one. */
function selectedSpan() {
  const selection = window.getSelection();
  const pair = currentPair();
  if (!selection.rangeCount || selection.isCollapsed || !pair) return null;
  const range = selection.getRangeAt(0);
  const box = [...document.querySelectorAll("#main .text p")].find((text) => range.intersectsNode(text));
  if (!box) return null;
  const before = (node, offset) => {
    const start = document.createRange();
    start.setStart(box, 0);
    start.setEnd(node, offset);
    return start.toString();
  };
  const head = box.contains(range.startContainer) ? before(range.startContainer, range.startOffset) : "";
  const whole = box.contains(range.endContainer) ? before(range.endContainer, range.endOffset) : box.textContent;
  const raw = whole.slice(head.length);
  const text = raw.trim();
  if (!text) return null;
  const start = [...(head + raw.slice(0, raw.indexOf(text)))].length;
  return { passage_id: pair.query.ids[pair.p], start, end: start + [...text].length, text };
}

/** The selected texts of the draft, and those of entries, with their places in the units of JavaScript. */
function markedSpans(query, p) {
  const points = [...query.text(p)];
  const place = (point) => points.slice(0, point).join("").length;
  const draft = live.draft?.query_id === query.id ? live.draft.spans : [];
  const kept = query.spans.filter(({ entry }) => query.entries.some(({ text }) => text === entry));
  return [
    ...draft.map((span) => ({ ...span, class: "draft", title: "selected for the draft" })),
    ...kept.map((span) => ({ ...span, class: "kept", title: `${span.by}: ${span.entry}` })),
  ]
    .filter((span) => span.passage_id === query.ids[p])
    .map(({ start, end, class: name, title }) => ({ start: place(start), end: place(end), class: name, title }));
}

/** Remembers the selection, because a click on a button ends it. */
function rememberSelection() {
  const span = selectedSpan();
  if (!span) return;
  live.selection = span;
  drawSelection();
}

function drawSelection() {
  const { selection } = live;
  const panel = document.getElementById("selection");
  const canGrade = review.head.live.grades && app.screen?.query;
  fill(panel, selection && canGrade && button(live.draft?.op === "add" ? "Add the selection to the draft" : "New entry from the selection", draftFromSelection, { class: "primary", title: "key: n", "data-focus": "selection" }));
  panel.hidden = !panel.hasChildNodes();
}

// Order of consequence

/** How much a passage decides: entries that it alone covers for a system, those of a doubtful grade first. */
function consequence(query, p) {
  if (!query.cover) return 0;
  const covers = (q, e) => (countedRating(query, q, e) ?? -1) >= review.head.min_grade;
  const alone = [...query.entries.keys()].filter((e) => covers(p, e) && Object.values(query.cover.tops).some((top) => top.includes(p) && top.filter((q) => covers(q, e)).length === 1));
  return alone.reduce((sum, e) => sum + 1 / (1 + Math.abs(query.value("margin", p, e, 0) ?? 1)), 0);
}

// The parts of the page

const LIVE_KEYS = [
  ["n or +", "new entry from the selected text (n if it is not a key of the scale)"],
  ["i", "check the impact of the draft"],
  ["Enter", "in the draft: check the impact, then commit"],
  ["o", "leaderboard with the selected entry alone, and back"],
  ["z", "undo your last change"],
];

function startParts() {
  live.aside = el("aside", { id: "live", "aria-label": "Draft and leaderboard" }, el("section", { id: "draft", class: "panel", hidden: true }), el("section", { id: "board", class: "panel" }));
  document.getElementById("main").after(
    live.aside,
    el("div", { id: "selection", hidden: true }),
    button("", () => showAside(!document.body.classList.contains("with-aside")), { id: "line", "aria-controls": "live" }),
  );
  document.body.classList.add("served");
  document.addEventListener("selectionchange", rememberSelection);
  window.addEventListener("hashchange", () => {
    live.selection = null;
    drawSelection();
    if (live.solo) showSolo(null);
  });
  KEYS.splice(KEYS.findIndex(([key]) => key.startsWith("s ")), 1, ...LIVE_KEYS.filter(([key]) => !review.head.blind || !["i", "Enter", "o"].includes(key)));
  document.addEventListener("focusout", () => setTimeout(leaveField));
  document.addEventListener("pointerdown", ({ button: number }) => { live.isPressed = number === 0; });
  for (const end of ["pointerup", "pointercancel", "pointermove", "dragend"]) document.addEventListener(end, release);
  for (const act of ["keydown", "click"]) document.addEventListener(act, forgetNotice, true);
  Object.assign(KEY_ACTIONS, { n: draftFromSelection, "+": draftFromSelection, i: () => live.draft !== null && checkImpact(), o: soloByKey, z: undoLast });
  QUERY_COLUMNS.push({ name: "disputed", label: "Disputed", value: ({ id }) => openDisputes().filter((pair) => pair.query_id === id).length, number: true, open: true });
  SORTS.push(["consequence", "could move a place", consequence]);
}

const NAME = "exam_pp.live.name";

async function askName() {
  let name = review.head.reviewer || kept(NAME).get(NAME);
  while (!name) name = await enterName("");
  return name;
}

/** The name that the reviewer enters; null if it is cancelled. */
async function enterName(value) {
  const name = el("input", { type: "text", value, required: true, autocomplete: "off", maxlength: 100 });
  const check = () => { name.value = name.value.trim(); return name.reportValidity(); };
  const content = [el("p", {}, "Your ratings and changes get this name. It is no password: others on this machine could enter it, too."), field("Name", name)];
  return (await ask("Your name", content, "Start", { check })) ? name.value : null;
}

async function changeName() {
  const name = await enterName(live.by);
  if (!name || name === live.by) return;
  keep(NAME, name);
  window.location.reload();
}

Object.assign(served, {
  query: (index) => patiently(() => fetchQuery(index)).catch((error) => {
    review.opened.delete(index);
    throw error;
  }),
  send: sendChange,
  work: drawWork,

  draft: (query, change) => startDraft({ ...change, query_id: query.id }),
  marks: markedSpans,

  entryTools: (query, e) => !review.head.blind && button("◎", () => toggleSolo(query, e), { class: "small", title: "Leaderboard with this entry alone", "aria-label": `Leaderboard with entry ${e + 1} alone` }),

  controls() {
    return [
      el("span", { class: "reviewer" }, button(live.by, changeName, { class: "plain", title: "Another name", "aria-label": `You are ${live.by}; another name`, disabled: Boolean(review.head.reviewer) })),
      el("span", { id: "status", class: "status", role: "status" }),
      button(["↶", el("span", { class: "on-wide" }, " Undo")], undoLast, { "data-focus": "undo", title: "key: z", "aria-label": "Undo" }),
      el("a", { href: "#/work", id: "disputed", class: "status" }),
    ];
  },

  status() {
    const status = document.getElementById("status");
    if (!status) return;
    const text = statusText();
    const dismiss = () => live.refused.length > 0 && !live.trouble && button("✕", () => keepRefused([]), { class: "small", "aria-label": "Dismiss", "data-focus": "dismiss" });
    redraw(status, () => [dismiss(), text]);
    status.classList.toggle("dirty", !text.startsWith("✓"));
    drawLine();
    document.getElementById("disputed").textContent = review.head.blind ? "changes" : `${openDisputes().length} disputed`;
    document.title = `${live.queue.length + live.others ? "• " : ""}${review.head.title}`;
  },

  async start() {
    live.by = await askName();
    live.client = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    keep(NAME, live.by);
    startParts();
    live.refused = JSON.parse(kept(keyOf("refused"), "sessionStorage").get(keyOf("refused")) ?? "[]");
    const draft = JSON.parse(kept(keyOf("draft"), "sessionStorage").get(keyOf("draft")) ?? "null");
    if (review.head.queries.some(({ id }) => id === draft?.query_id)) openDraft(draft, isGone(draft) ? GONE : "");
    else drawDraft();
    await adoptQueues();
    live.state = await patiently(getState);
    live.visit = Number(kept(keyOf("seen")).get(keyOf("seen")) ?? 0);
    keep(keyOf("seen"), live.state.seq);
    takeBoard(live.state.board);
    takeRatings();
    drawBoard();
    listen();
  },
});
