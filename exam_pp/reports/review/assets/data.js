// What the file brings: the head at once, each query when it is opened.

const review = { head: null, texts: [], opened: new Map() };

/** A block of the page, decompressed; its text is dropped afterwards. */
async function unpack(name) {
  const block = document.getElementById(name);
  const bytes = Uint8Array.from(atob(block.textContent), (letter) => letter.charCodeAt(0));
  block.remove();
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

async function unpackHead() {
  review.head = await unpack("head");
}

/** The query at a place of the head, with passages and grades. */
function openQuery(place) {
  if (!review.opened.has(place)) review.opened.set(place, unpackQuery(place));
  return review.opened.get(place);
}

async function unpackQuery(place) {
  if (!review.texts.promise) review.texts.promise = unpack("texts");
  const [chunk, texts] = await Promise.all([unpack(`query-${place}`), review.texts.promise]);
  return new Query(place, review.head.queries[place], chunk, texts);
}

/** A query's passages (p), bank entries (e) and graders (g), all by place. */
class Query {
  constructor(place, head, chunk, sharedTexts) {
    this.place = place;
    this.id = head.id;
    this.words = head.text;
    this.entries = head.entries;
    this.ids = chunk.ids;
    this.judgments = chunk.judgments;
    this._chunk = chunk;
    this._texts = chunk.texts.map((text) => (typeof text === "number" ? sharedTexts[text] : text));
  }

  get size() {
    return this.ids.length;
  }

  text(p) {
    return this._texts[this._chunk.text_of[p]];
  }

  /** The highest judgment; null where nobody judged. */
  judgment(p) {
    return this.judgments[p].length ? Math.max(...this.judgments[p]) : null;
  }

  /** System and rank, best rank first. */
  ranks(p) {
    const flat = this._chunk.ranks[p];
    const pairs = [];
    for (let i = 0; i < flat.length; i += 2) pairs.push([flat[i], flat[i + 1]]);
    return pairs.sort((one, other) => one[1] - other[1]);
  }

  rankOf(p, system) {
    const found = this.ranks(p).find(([place]) => place === system);
    return found ? found[1] : null;
  }

  /** A number (or null): rating, margin, expected, cut; spans are a list of numbers. */
  value(column, p, e, g) {
    const values = this._chunk.grades[g]?.[column];
    return values ? values[p * this.entries.length + e] : null;
  }

  /** A text (or null): source, reply, answer, reason, comment. */
  string(column, p, e, g) {
    const place = this.value(column, p, e, g);
    return place === null ? null : this._chunk.strings[place];
  }

  rating(p, e, g) {
    return this.value("rating", p, e, g);
  }

  /** The ratings that a grader gave a passage. */
  ratings(p, g) {
    return this.entries.map((_, e) => this.rating(p, e, g)).filter((rating) => rating !== null);
  }
}

/** The step of the scale with this rating. */
function step(rating) {
  const [, label, key, meaning] = review.head.scale.find(([value]) => value === rating) ?? [rating, String(rating), "", ""];
  return { rating, label, key, meaning };
}

/** One of six shades for a rating. */
function shade(rating) {
  const highest = review.head.scale.at(-1)[0];
  return Math.max(0, Math.min(5, Math.round((5 * rating) / highest)));
}
