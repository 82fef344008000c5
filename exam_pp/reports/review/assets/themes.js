// Light and dark colours.

const THEMES = ["auto", "light", "dark"];
const THEME_SIGNS = { auto: "◐", light: "☀", dark: "☾" };

function currentTheme() {
  return document.documentElement.dataset.theme ?? "auto";
}

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function nextTheme() {
  const theme = THEMES[(THEMES.indexOf(currentTheme()) + 1) % THEMES.length];
  setTheme(theme);
  try {
    window.localStorage.setItem("exam_pp.theme", theme);
  } catch {
    // Without local storage the choice is lost when the page is closed.
  }
  drawHeader();
}

function storedTheme() {
  try {
    return window.localStorage.getItem("exam_pp.theme") ?? "auto";
  } catch {
    return "auto";
  }
}

function themeButton() {
  const label = `Colours: ${currentTheme()}`;
  return button(THEME_SIGNS[currentTheme()], nextTheme, { "data-focus": "theme", title: label, "aria-label": label });
}
