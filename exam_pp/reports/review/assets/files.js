// The edits file: saving, parsing, and work in local storage that cannot be read.

const FORMAT = "exam_pp.edits.v1";

/** Saves edits as a file. */
function download(edits) {
  const text = `${JSON.stringify(edits, null, 1)}\n`;
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = el("a", { href: address, download: "edits.json" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Parses an edits file; throws an Error with a message for the reviewer. */
function parseEdits(text) {
  let edits;
  try {
    edits = JSON.parse(text);
  } catch {
    throw new Error("This is not an edits file: it is not JSON.");
  }
  checkEdits(edits);
  return edits;
}

const isText = (value) => typeof value === "string";
const isFilled = (value) => isText(value) && value.trim() !== "";
const isAbsent = (value) => value === undefined || value === null;
const isTextOrAbsent = (value) => isAbsent(value) || isText(value);

/** Offers to save the damaged work as a file and to delete it from the browser. */
async function offerReset() {
  const stored = storageKeys().map((key) => window.localStorage.getItem(key) ?? "").join("\n");
  const copy = el("a", { href: URL.createObjectURL(new Blob([stored], { type: "text/plain" })), download: "damaged-work.txt" }, "Save a copy");
  const content = [
    el("p", {}, `The browser keeps work for this page that cannot be read: ${work.damage} Until you delete it, changes are not kept when you close the page.`),
    el("p", {}, copy),
  ];
  if (!(await ask("Delete the damaged work?", content, "Delete"))) return;
  storageKeys().forEach((key) => window.localStorage.removeItem(key));
  work.damage = "";
  work.kept = true;
  if (hasUnsavedWork()) storeWork();
  notifyWorkListeners();
  announce("The damaged work is deleted");
}
