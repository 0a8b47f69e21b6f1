"use strict";
// The pages work without this script. It adds the theme button, copying, keys, page turns and live updates.

const root = document.documentElement;
const THEMES = ["auto", "light", "dark"];

function setTheme(theme) {
  if (theme === "auto") root.removeAttribute("data-theme");
  else root.setAttribute("data-theme", theme);
  const button = document.getElementById("theme");
  if (!button) return;
  button.hidden = false;
  button.textContent = "Theme: " + theme;
  button.dataset.now = theme;
}

function startTheme() {
  const kept = localStorage.getItem("theme");
  setTheme(THEMES.includes(kept) ? kept : "auto");
  document.getElementById("theme")?.addEventListener("click", (event) => {
    const next = THEMES[(THEMES.indexOf(event.target.dataset.now) + 1) % THEMES.length];
    localStorage.setItem("theme", next);
    setTheme(next);
  });
}

// Browsers give a clipboard to pages of this machine and of https only.
function showCopyButtons() {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
}

function startCopying() {
  showCopyButtons();
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  });
}

// Page turns: only the list is fetched and swapped; the address changes as it would by following the link.
async function turnTo(url, push) {
  const list = document.getElementById("cases");
  const reply = await fetch(url, { headers: { "x-evalq-part": "cases" } });
  if (!list || !reply.ok) { location.assign(url); return; }
  list.innerHTML = await reply.text();
  if (push) history.pushState({ turned: true }, "", url);
  place = -1;
  list.dataset.turns = String(Number(list.dataset.turns || 0) + 1);
}

function startTurning() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-turn]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    turnTo(link.href, true);
  });
  if (document.getElementById("cases")) addEventListener("popstate", () => turnTo(location.href, false));
}

let place = -1;

function move(step) {
  const rows = [...document.querySelectorAll("[data-row]")];
  if (!rows.length) return;
  rows[place]?.classList.remove("at");
  place = Math.min(rows.length - 1, Math.max(0, place + step));
  rows[place].classList.add("at");
  rows[place].querySelector("[data-open]")?.focus();
}

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  n: () => document.querySelector("[data-next]")?.click(),
  p: () => document.querySelector("[data-previous]")?.click(),
  x: () => document.querySelectorAll("[data-row]")[place]?.querySelector("[data-select]")?.click(),
  c: () => document.querySelector("[data-compare]")?.click(),
  r: () => document.querySelector("[data-review]")?.click(),
  y: () => document.querySelector(".card [data-copy]")?.click(),
  "/": () => document.querySelector("[data-search]")?.focus(),
  "?": () => document.querySelector(".keys")?.scrollIntoView(),
};

function startKeys() {
  const line = document.querySelector(".keys");
  if (!line) return;
  line.hidden = false;
  addEventListener("keydown", (event) => {
    const busy = event.target.closest?.("input:not([type=checkbox]), select, textarea, [contenteditable]");
    if (busy || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });
}

// Live updates: parts of the page by the id of their element; at the end the page is drawn anew in place.
async function redraw() {
  const reply = await fetch(location.href);
  const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
  document.querySelector("main").replaceWith(fresh.querySelector("main"));
  place = -1;
  showCopyButtons();
  startLive();
}

function startLive() {
  const source = document.querySelector("[data-events]");
  if (!source) return;
  const stream = new EventSource(source.dataset.events);
  stream.addEventListener("parts", (event) => {
    for (const [id, html] of Object.entries(JSON.parse(event.data))) {
      const part = document.getElementById(id);
      if (part) part.innerHTML = html;
    }
  });
  stream.addEventListener("redraw", () => { stream.close(); redraw(); });
  addEventListener("pagehide", () => stream.close(), { once: true });
}

startTheme();
startCopying();
startTurning();
startKeys();
startLive();
