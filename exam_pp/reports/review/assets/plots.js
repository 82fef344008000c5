// Bar charts as SVG; their labels contain the numbers as text.

/** The steps of the scale with their counts, and ratings outside the scale with a count above 0. */
function levels(counts) {
  const onScale = new Set(review.head.scale.map(([rating]) => rating));
  return counts
    .map((number, rating) => ({ ...step(rating), number }))
    .filter(({ rating, number }) => onScale.has(rating) || number > 0);
}

function countsText(parts) {
  return parts.map(({ label, number }) => `${label}: ${number}`).join(", ");
}

/** A chart with a column for each step of the scale. */
function columnChart(counts, title) {
  const width = 54, gap = 10, height = 120, top = 20, bottom = 24;
  const parts = levels(counts);
  const most = Math.max(1, ...parts.map(({ number }) => number));
  const sum = total(counts) || 1;
  const whole = { width: parts.length * (width + gap), height: top + height + bottom };
  return svg(
    "svg",
    { class: "plot", role: "img", "aria-label": `${title}: ${countsText(parts)}`, viewBox: `0 0 ${whole.width} ${whole.height}`, ...whole },
    parts.flatMap(({ rating, label, number }, i) => {
      const size = (number / most) * height;
      const x = i * (width + gap) + gap / 2;
      const middle = { x: x + width / 2, "text-anchor": "middle" };
      return [
        svg("rect", { class: `shade-${shade(rating)}`, x, y: top + height - size, width, height: Math.max(size, 1), rx: 2 }),
        svg("text", { ...middle, y: top + height - size - 5 }, percent(number / sum)),
        svg("text", { ...middle, y: top + height + 17 }, label.replace("_support", "")),
      ];
    }),
  );
}

function percent(share) {
  if (share > 0 && share < 0.01) return "< 1 %";
  return `${Math.round(100 * share)} %`;
}

/** A bar divided by the shares of the ratings. */
function shareBar(counts, title, width = 160) {
  const parts = levels(counts);
  const sum = total(counts);
  if (!sum) return el("span", { class: "faint" }, "no ratings");
  let x = 0;
  return svg(
    "svg",
    { class: "bar", role: "img", "aria-label": `${title}: ${countsText(parts)}`, viewBox: `0 0 ${width} 14`, width, height: 14 },
    svg("title", {}, countsText(parts)),
    parts.map(({ rating, number }) => {
      const size = (number / sum) * width;
      const part = svg("rect", { class: `shade-${shade(rating)}`, x, y: 0, width: size, height: 14 });
      x += size;
      return part;
    }),
  );
}

/** A bar for a score between 0 and 1, with its standard error as a line. */
function scoreBar(mean, error, width = 150) {
  const at = (value) => Math.max(0, Math.min(1, value)) * width;
  return svg(
    "svg",
    { class: "bar", "aria-hidden": "true", viewBox: `0 0 ${width} 16`, width, height: 16 },
    svg("rect", { class: "track", x: 0, y: 2, width, height: 12 }),
    svg("rect", { class: "score", x: 0, y: 2, width: at(mean), height: 12 }),
    error !== null && svg("line", { class: "error", x1: at(mean - error), x2: at(mean + error), y1: 8, y2: 8 }),
  );
}

/** The colours of the ratings; `more` are further items. */
function legend(...more) {
  return el(
    "ul",
    { class: "legend", "aria-label": "Colours of the ratings" },
    review.head.scale.map(([rating, label]) => el("li", {}, el("span", { class: `rating shade-${shade(rating)}` }, label))),
    more.map((item) => el("li", {}, item)),
  );
}
