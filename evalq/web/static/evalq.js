"use strict";
// The pages work without this script. It adds the theme button, copying, keys and live updates.

const root = document.documentElement;

function setTheme(theme) {
  if (theme === "auto") root.removeAttribute("data-theme");
  else root.setAttribute("data-theme", theme);
  const button = document.getElementById("theme");
  if (button) { button.hidden = false; button.textContent = "Theme: " + theme; button.dataset.now = theme; }
}

function startTheme() {
  const themes = ["auto", "light", "dark"];
  setTheme(themes.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "auto");
  document.getElementById("theme")?.addEventListener("click", (event) => {
    const next = themes[(themes.indexOf(event.target.dataset.now) + 1) % themes.length];
    localStorage.setItem("theme", next);
    setTheme(next);
  });
}

function startCopying() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "Copied";
    });
  }
}

startTheme();
startCopying();
