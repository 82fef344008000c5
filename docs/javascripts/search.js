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

const stem = (word) => word.replace(/ies$/, "y").replace(/(?<=\w\w)(?<!s)s$/, "");

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
  sections = items.map((item, id) => ({
    id,
    weight: SECTIONS[item.path[0]] ?? 1,
    fields: { title: words(item.title), path: words(item.path.join(" ")), text: words(item.text) },
  }));
}

/** The sections by how well they fit: BM25 over fields, and more for words that follow each other as in the query, and
 *  for titles that have all of them. The last word may be the begin of one. */
function rank(query) {
  const wanted = words(query).map((word) => word.stem);
  const last = wanted.length - 1;
  const fits = (word, at) => word.stem === wanted[at] || (at === last && last >= 0 && word.stem.startsWith(wanted[at]));
  const length = sections.reduce((sum, { fields }) => sum + fields.text.length, 1) / (sections.length || 1);
  const found = sections.map((section) => {
    const hits = wanted.map(() => 0);
    const matches = [];
    let phrases = 0;
    for (const [field, weight] of Object.entries(FIELDS)) {
      const inField = section.fields[field];
      const norm = field === "text" ? 0.5 + inField.length / length : 1;
      const ranges = [];
      wanted.forEach((_, at) => {
        const places = inField.flatMap((word, place) => (fits(word, at) ? [place] : []));
        hits[at] += (weight * places.length) / (places.length + norm);
        for (const place of places) {
          const { start, end } = inField[place];
          ranges.push({ start, end, value: end - start }); // value: how many letters are marked
        }
        if (at < last && places.some((place) => inField[place + 1] && fits(inField[place + 1], at + 1))) phrases += weight;
      });
      if (ranges.length && field !== "path") {
        ranges.sort((one, other) => one.start - other.start);
        matches.push({ field, value: { highlight: { ranges } } });
      }
    }
    const inTitle = wanted.filter((_, at) => section.fields.title.some((word) => fits(word, at))).length;
    const weight = section.weight * (1 + (inTitle / wanted.length) ** 2);
    return { id: section.id, weight, hits, phrases, matches };
  });
  const rarity = wanted.map((_, at) => Math.log(1 + sections.length / (1 + found.filter(({ hits }) => hits[at]).length)));
  for (const item of found) {
    item.share = item.hits.filter(Boolean).length / wanted.length;
    const sum = item.hits.reduce((total, hit, at) => total + hit * rarity[at], item.phrases);
    item.score = sum * item.share ** 2 * item.weight;
  }
  const fitting = found.filter(({ share }) => share > 0.5);
  return (fitting.length ? fitting : found.filter(({ share }) => share > 0))
    .sort((one, other) => other.score - one.score || one.id - other.id);
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
