// Controls to name the reviewer, and to save and load the edits file.

function reviewerField() {
  const input = el("input", {
    type: "text", value: work.document.reviewer, size: 10, autocomplete: "off", "data-focus": "reviewer",
    oninput: () => { work.document.reviewer = input.value.trim(); workChanged(); },
  });
  return el("label", { class: "field" }, el("span", {}, "Reviewer"), input);
}

async function askAndSave() {
  if (document.getElementById("dialog").open) return;
  if (review.head.live) {
    announce("Every change is saved at once");
    return;
  }
  if (!work.document.reviewer) {
    const name = el("input", { type: "text", required: true, autocomplete: "off" });
    const check = () => { name.value = name.value.trim(); return name.reportValidity(); };
    if (!(await ask("Name of the reviewer", [el("p", {}, NAME_NOTE), field("Name", name)], "Save", { check }))) return;
    work.document.reviewer = name.value;
    drawHeader();
  }
  saveWork();
}

function loadButton() {
  const input = el("input", { type: "file", accept: ".json,application/json", class: "unseen", tabindex: -1, "aria-label": "Edits file", id: "load-file", onchange: () => loadFile(input) });
  return [button("Load edits", () => input.click(), { "data-focus": "load" }), input];
}
