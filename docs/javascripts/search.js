// The search of the site, in place of the theme's: that one has no stop words, needs every word, and ranks all pages
// alike. Messages: 0 brings the sections of all pages, 2 a query; 1 says that they are here, 3 has a page of results.
const STOP_WORDS = new Set(
  (
    "a an and are as at be by can do does for from get has have how i if in is it me my of on or so that the their " +
    "them there these this to use using want was what when where which who why will with you your"
  ).split(" "),
);
const FIELDS = { title: 5, path: 2, text: 1 };
const SECTIONS = { Start: 1.6, "How to": 1.6, Concepts: 1.2, "Coming from": 0.6, Project: 0.4 };
const PER_PAGE = 10;

let sections = [];
let results = [];
const index = new Map(); // stem to the section's id to field to places

/** Plurals, and forms with -ed, -ing or a last e, are one word. */
const stem = (word) =>
  word
    .replace(/ies$/, "y")
    .replace(/(?<=\w\w)(?<!s)s$/, "")
    .replace(/(?<=\w{3})(ed|ing|e)$/, "");

/** The words of a text without tags and stop words: stem and place. */
function words(text) {
  return [...text.matchAll(/<[^>]*>|[\p{L}\p{N}]+/gu)]
    .map((match) => ({
      stem: match[0].normalize("NFKD").toLowerCase(),
      start: match.index,
      end: match.index + match[0].length,
    }))
    .filter((word) => word.stem[0] !== "<" && !STOP_WORDS.has(word.stem))
    .map((word) => ({ ...word, stem: stem(word.stem) }));
}

function read(items) {
  sections = items.map((item) => ({
    weight: SECTIONS[item.path[0]] ?? 1,
    fields: { title: words(item.title), path: words(item.path.join(" ")), text: words(item.text) },
  }));
  sections.forEach(({ fields }, id) => {
    for (const [field, inField] of Object.entries(fields)) {
      inField.forEach((word, place) => put(index, word.stem, id, field, place));
    }
  });
}

function put(places, term, id, field, place) {
  if (!places.has(term)) places.set(term, new Map());
  const byId = places.get(term);
  if (!byId.has(id)) byId.set(id, { title: [], path: [], text: [] });
  byId.get(id)[field].push(place);
}

/** The places of all words that begin with a term; in titles only of the term itself, if a title has it. */
function placesOf(term) {
  const found = new Map();
  for (const [word, byId] of index) {
    if (!word.startsWith(term)) continue;
    for (const [id, fields] of byId) {
      for (const field of Object.keys(FIELDS)) fields[field].forEach((place) => put(found, term, id, field, place));
    }
  }
  const places = found.get(term) ?? new Map();
  const exact = index.get(term) ?? new Map();
  const isInTitles = [...exact.values()].some(({ title }) => title.length);
  if (isInTitles) places.forEach((fields, id) => (fields.title = exact.get(id)?.title ?? []));
  return places;
}

/** The sections by how well they fit: BM25 over fields, and more for words that follow each other as in the query, and
 *  for titles that have all of them, or no others. The last word may be the begin of one. */
function rank(query) {
  const wanted = words(query).map((word) => word.stem);
  const hits = wanted.map((term, at) => (at === wanted.length - 1 ? placesOf(term) : (index.get(term) ?? new Map())));
  const rarity = hits.map((byId) => Math.log(1 + sections.length / (1 + byId.size)));
  const length = sections.reduce((sum, { fields }) => sum + fields.text.length, 1) / (sections.length || 1);
  const found = [...new Set(hits.flatMap((byId) => [...byId.keys()]))].map((id) => {
    const of = hits.map((byId) => byId.get(id));
    let sum = 0;
    const matches = [];
    for (const [field, weight] of Object.entries(FIELDS)) {
      const inField = sections[id].fields[field];
      const norm = field === "text" ? 0.5 + inField.length / length : 1;
      of.forEach((fields, at) => {
        const places = fields?.[field] ?? [];
        sum += (rarity[at] * weight * places.length) / (places.length + norm);
        const after = new Set(of[at + 1]?.[field]);
        if (places.some((place) => after.has(place + 1))) sum += weight;
      });
      const ranges = of
        .flatMap((fields) => fields?.[field] ?? [])
        .sort((one, other) => one - other)
        .map((place) => inField[place])
        .map(({ start, end }) => ({ start, end, value: end - start })); // value: how many letters are marked
      if (ranges.length && field !== "path") matches.push({ field, value: { highlight: { ranges } } });
    }
    const share = of.filter(Boolean).length / wanted.length;
    const inTitle = of.filter((fields) => fields?.title.length).length / wanted.length;
    const isTitle = query.trim().includes(" ") && inTitle === 1 && sections[id].fields.title.length === wanted.length;
    return { id, share, score: sum * share ** 2 * sections[id].weight * (1 + inTitle ** 2 + isTitle), matches };
  });
  const fitting = found.filter(({ share }) => share > 0.5);
  return (fitting.length ? fitting : found).sort((one, other) => other.score - one.score || one.id - other.id);
}

function answer({ input, page }) {
  if (!page) results = typeof input === "string" && input.trim() ? rank(input) : [];
  const from = page?.from ?? 0;
  const at = (place) => ({ from: place, size: PER_PAGE });
  return {
    items: results.slice(from, from + PER_PAGE).map(({ id, matches }) => ({ id, matches })),
    pagination: {
      total: results.length,
      prev: from ? at(from - PER_PAGE) : undefined,
      next: from + PER_PAGE < results.length ? at(from + PER_PAGE) : undefined,
    },
    query: { select: { documents: [], terms: [] }, values: [] },
  };
}

self.onmessage = ({ data }) => {
  if (data.type === 0) {
    read(data.data.items);
    self.postMessage({ type: 1 });
  } else if (data.type === 2) {
    self.postMessage({ type: 3, data: answer(data.data) });
  }
};
