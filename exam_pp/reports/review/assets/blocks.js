// Data of the page, which are compressed JSON.

/** Decompresses a block of the page and removes it from the document. */
async function unpack(name) {
  const block = document.getElementById(name);
  const bytes = Uint8Array.from(atob(block.textContent), (letter) => letter.charCodeAt(0));
  block.remove();
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
