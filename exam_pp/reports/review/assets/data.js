// Data of the page: the head is decompressed at once, each query when it is opened.

const review = { head: null, texts: [], opened: new Map() };

/** What a served page does in place of a page from a file, if the head has `live`; its own script says it. */
const served = {};

async function unpackHead() {
  review.head = await unpack("head");
}

const OF_ANSWERS = [["passage", "answer"], ["Passage", "Answer"]];
const OF_CRITERIA = [["covering an entry", "meeting a criterion"], ["covering no entry", "meeting no criterion"], ["Covered", "Met"], ["Facts stated", "Criteria met"]];

/** Words of the page, which call answers and criteria by their names. */
function worded(text) {
  const { answers, criteria } = review.head;
  const words = [...(answers ? OF_ANSWERS : []), ...(criteria ? OF_CRITERIA : [])];
  return words.reduce((changed, [word, other]) => changed.replaceAll(word, other), text);
}

/** The query with this index in the head, with passages and grades. */
function openQuery(index) {
  if (!review.opened.has(index)) review.opened.set(index, review.head.live ? served.query(index) : unpackQuery(index));
  return review.opened.get(index);
}

async function unpackQuery(index) {
  if (!review.texts.promise) review.texts.promise = unpack("texts");
  const [chunk, texts] = await Promise.all([unpack(`query-${index}`), review.texts.promise]);
  return new Query(index, review.head.queries[index], chunk, texts);
}

/** A query with its passages (p), bank entries (e) and graders (g), which are addressed by index. */
class Query {
  constructor(index, head, chunk, sharedTexts) {
    this.index = index;
    this.id = head.id;
    this.queryText = head.text;
    this.entries = head.entries;
    this.sample = head.sample ?? [];
    this.ids = chunk.ids;
    this.judgments = chunk.judgments;
    this.cover = chunk.cover;
    this._allEntries = [...head.entries.keys()];
    this._asked = head.asked;
    this._chunk = chunk;
    this._texts = chunk.texts.map((text) => (typeof text === "number" ? sharedTexts[text] : text));
  }

  get size() {
    return this.ids.length;
  }

  /** The indexes of the entries that the page asks about for a passage: all, or those of the sampled pairs. */
  asked(p) {
    return this._asked ? this._asked[this.ids[p]] : this._allEntries;
  }

  asks(p, e) {
    return this.asked(p).includes(e);
  }

  /** The entry itself if the page asks about it, else the next such entry of the passage, else the last one. */
  nearestAsked(p, e) {
    const asked = this.asked(p);
    return asked.find((index) => index >= e) ?? asked.at(-1) ?? e;
  }

  /** The next (1) or previous (-1) entry that the page asks about; undefined after the last and before the first. */
  askedBeside(p, e, by) {
    const asked = this.asked(p);
    return asked[asked.indexOf(e) + by];
  }

  /** A pair as a rating names it: by ids, and by the digest of its content. */
  pair(p, e) {
    const ids = { query_id: this.id, passage_id: this.ids[p], id: this.entries[e].id };
    const entry = this._chunk.keys?.entries[ids.id];
    return entry === undefined ? ids : { ...ids, key: `${entry}:${this.textKey(p)}` };
  }

  /** Equal for passages with the same text. */
  textKey(p) {
    return this._chunk.keys?.passages[p] ?? p;
  }

  /** The indexes of what a rating or label is about, -1 where the query lacks it; with a key, of the same content. */
  placeOf({ passage_id: passageId, id, key }) {
    const place = { p: this.ids.indexOf(passageId), e: this.entries.findIndex((entry) => entry.id === id) };
    if (!key || !this._chunk.keys || isSample()) return place;
    const isHere = (p, e) => p >= 0 && e >= 0 && this.pair(p, e).key === key;
    if (isHere(place.p, place.e)) return place;
    const e = this.entries.findIndex((_, i) => this.pair(0, i).key?.split(":")[0] === key.split(":")[0]);
    return { p: this.ids.findIndex((_, p) => isHere(p, e)), e };
  }

  text(p) {
    return this._texts[this._chunk.text_of[p]];
  }

  /** The citations of a passage that is a part of an answer: id, text (or null) and labels of graders. */
  citations(p) {
    const citations = this._chunk.citations?.[p] ?? [];
    return citations.map((citation) => ({ ...citation, text: citation.text === null ? null : this._texts[citation.text] }));
  }

  /** The highest judgment, or null. */
  judgment(p) {
    return this.judgments[p].length ? Math.max(...this.judgments[p]) : null;
  }

  /** Pairs of system and rank, best rank first. */
  ranks(p) {
    const flat = this._chunk.ranks[p];
    const pairs = [];
    for (let i = 0; i < flat.length; i += 2) pairs.push([flat[i], flat[i + 1]]);
    return pairs.sort((a, b) => a[1] - b[1]);
  }

  rankOf(p, system) {
    const pair = this.ranks(p).find(([index]) => index === system);
    return pair ? pair[1] : null;
  }

  /** The number (or null) in a column: rating, margin, expected, cut. For spans, a list of numbers. */
  value(column, p, e, g) {
    const values = this._chunk.grades[g]?.[column];
    return values ? values[p * this.entries.length + e] : null;
  }

  /** The text (or null) in a column: source, reply, answer, reason, comment. */
  string(column, p, e, g) {
    const index = this.value(column, p, e, g);
    return index === null ? null : this._chunk.strings[index];
  }

  rating(p, e, g) {
    return this.value("rating", p, e, g);
  }

  /** The ratings that a grader gave a passage for what it should have, not for what it should avoid. */
  ratings(p, g) {
    return this.entries.map((entry, e) => (avoids(entry) ? null : this.rating(p, e, g))).filter((rating) => rating !== null);
  }
}

/** The step of the scale for a rating. */
function step(rating) {
  const [, label, key, meaning] = review.head.scale.find(([value]) => value === rating) ?? [rating, String(rating), "", ""];
  return { rating, label, key, meaning };
}

/** The shade of a rating, from 0 to 5. */
function shade(rating) {
  const highest = review.head.scale.at(-1)[0];
  return Math.max(0, Math.min(5, Math.round((5 * rating) / highest)));
}
