// Long names: a click copies the whole name.

function makeNamesCopy() {
  const toast = el("p", { class: "toast", role: "status" });
  document.body.append(toast);
  for (const name of document.querySelectorAll(".name")) {
    if (!name.closest("a, button, summary")) name.classList.add("copies");
  }
  document.addEventListener("click", async (event) => {
    const name = event.target.closest(".name.copies");
    if (!name || !window.getSelection().isCollapsed) return;
    const text = name.textContent;
    const message = await navigator.clipboard.writeText(text).then(() => `Copied: ${text}`, () => text);
    fill(toast, message);
    window.setTimeout(() => fill(toast), 4000);
  });
}
