// Start of the script of report pages.

/** Marks the section in view in the navigation. */
function followSections() {
  const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
  const observer = new IntersectionObserver((changes) => {
    for (const { isIntersecting, target } of changes) {
      if (!isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      const link = links.get(target.getAttribute("aria-labelledby"));
      link.setAttribute("aria-current", "true");
      const strip = link.closest(".contents");
      const middle = link.offsetLeft - (strip.clientWidth - link.offsetWidth) / 2;
      strip.scrollTo({ left: middle });
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const section of document.querySelectorAll("section[aria-labelledby]")) {
    if (links.has(section.getAttribute("aria-labelledby"))) observer.observe(section);
  }
}

/** Printing shows all details. */
function printDetails() {
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const details of opened) details.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
  });
}

for (const box of document.querySelectorAll(".table")) {
  improveTable(box);
  if (box.querySelector(".behind")) makeSelectable(box);
}
for (const box of document.querySelectorAll(".table .scroll")) makeReachable(box);
makeNamesCopy();
followSections();
printDetails();
document.documentElement.dataset.ready = "";
