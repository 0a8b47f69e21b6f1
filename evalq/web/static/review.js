"use strict";
// The desk works by plain forms. This script presses its buttons by keys, saves in the background and shows the
// next card, which it has asked for while the reviewer was reading the one before.
// A block of its own: the script of all pages has names like these.
{
  const desk = document.getElementById("desk");
  const place = document.getElementById("card");
  let saving = Promise.resolve();
  let ahead = null;

  const current = () => place.querySelector("[data-item]");

  function say(text, isProblem) {
    const line = document.getElementById("saved");
    line.textContent = text;
    line.classList.toggle("problem", Boolean(isProblem));
  }

  function show(html) {
    if (html === null) place.replaceChildren(document.getElementById("done").content.cloneNode(true));
    else place.innerHTML = html;
    markCriterion();
  }

  async function fetchCard(beside) {
    const asked = new URLSearchParams();
    if (beside) asked.set("beside", beside);
    if (desk.dataset.grader) asked.set("grader", desk.dataset.grader);
    const reply = await fetch(`${desk.dataset.path}/card?${asked}`, { headers: { accept: "text/html" } });
    if (!reply.ok) throw new Error(`the next card did not come (${reply.status})`);
    return reply.status === 204 ? null : reply.text();
  }

  async function send(form, fields) {
    const path = desk.dataset.grader ? `${form.action}?grader=${encodeURIComponent(desk.dataset.grader)}` : form.action;
    const reply = await fetch(path, { method: "POST", body: fields, headers: { accept: "application/json" } });
    const found = await reply.json().catch(() => ({ error: `the server answered ${reply.status}` }));
    if (!reply.ok) throw new Error(found.error);
    const total = found.done + found.left;
    document.getElementById("counts").textContent = `${found.done} of ${total}`;
    const bar = document.getElementById("progress");
    bar.max = total || 1;
    bar.value = found.done;
    if (found.pace) document.getElementById("pace").textContent = found.pace;
    document.getElementById("last").innerHTML = found.last;
  }

  // The card after the one on the screen. It is asked for when nothing is being saved: until then the server still
  // has the last card in this reviewer's hands.
  function look() {
    const shown = current();
    ahead = shown ? saving.then(() => fetchCard(shown.dataset.item)) : null;
    if (ahead) ahead.catch(() => {});
  }

  let isBusy = false;

  // The next card is shown at once; what is saved behind it comes in the order of the keys.
  async function move(form, fields) {
    say("saving…");
    const next = ahead;
    const saved = saving.then(() => send(form, fields));
    saving = saved;
    ahead = null;
    try {
      if (!next) await saved;
      show(await (next || fetchCard()));
      look();
      isBusy = false;
      await saved;
      if (saving === saved) say("saved ✓");
    } catch (problem) {
      await recover(problem);
    }
  }

  async function recover(problem) {
    saving = Promise.resolve();
    say(`not saved: ${problem.message}`, true);
    try {
      show(await fetchCard());
      look();
    } catch { /* the line says what is wrong */ }
    isBusy = false;
  }

  async function takeBack(form, fields) {
    try {
      await saving;
      ahead = null;
      await send(form, fields);
      show(await fetchCard());
      look();
      say("taken back");
    } catch (problem) {
      say(problem.message, true);
    }
    isBusy = false;
  }

  async function submitByScript(event) {
    event.preventDefault();
    if (isBusy) return;
    isBusy = true;
    const fields = new URLSearchParams(new FormData(event.target, event.submitter));
    const act = event.target.action.endsWith("/undo") ? takeBack : move;
    await act(event.target, fields);
  }

  if (desk) place.addEventListener("submit", submitByScript);

  function markCriterion() {
    const open = [...place.querySelectorAll("[data-criterion]")];
    const now = open.find((one) => !one.querySelector(":checked"));
    for (const one of open) one.classList.toggle("now", one === now);
    return now;
  }

  function pressStep(key) {
    const now = markCriterion();
    const box = now && [...now.querySelectorAll("input")].find((one) => one.value === key);
    if (box) { box.checked = true; markCriterion(); }
    return Boolean(box);
  }

  function pressLetter(key) {
    const field = place.querySelector("[data-ranking]");
    if (!field) return false;
    const letters = field.dataset.ranking;
    const said = field.value.replace(/[^A-Z=]/g, "");
    let next = null;
    if (key === "Backspace") next = said.replace(/=?[A-Z]?$/, "");
    else if (key === "=" && /[A-Z]$/.test(said) && said.length < 60) next = said + "=";
    else if (key.length === 1 && key === key.toLowerCase() && letters.includes(key.toUpperCase()) && !said.includes(key.toUpperCase())) next = said + key.toUpperCase();
    if (next === null) return false;
    field.value = next.replace(/([A-Z])(?=[A-Z])/g, "$1 > ").replace(/=/g, " = ").trim();
    return true;
  }

  function press(key) {
    const escaped = CSS.escape(key);
    const button = place.querySelector(`button[data-key="${escaped}"]`);
    if (button) { button.click(); return true; }
    const field = place.querySelector(`[data-focus-key="${escaped}"]`);
    if (field) { field.focus(); return true; }
    const fold = place.querySelector(`[data-toggle-key="${escaped}"]`) || (key === "?" ? document.getElementById("keys") : null);
    if (fold) { fold.open = !fold.open; return true; }
    return false;
  }

  document.addEventListener("keydown", (event) => {
    if (!place || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    const at = document.activeElement;
    if (at && at.matches("[data-comment]")) {
      if (event.key === "Escape" || event.key === "Enter") { at.blur(); event.preventDefault(); }
      return;
    }
    if (at && at.matches("input:not([data-ranking]):not([type=radio]), textarea, select")) return;
    if (event.key === "Enter" && at && at.matches("button, a, summary")) return;
    if (pressLetter(event.key) || pressStep(event.key) || press(event.key)) event.preventDefault();
  });

  function signInByLink() {
    const form = document.getElementById("review-sign-in");
    if (!form || location.hash.length < 2) return;
    form.elements.token.value = decodeURIComponent(location.hash.slice(1));
    history.replaceState(null, "", location.pathname);
    form.submit();
  }

  signInByLink();
  if (desk) look();
  if (place) markCriterion();
}
