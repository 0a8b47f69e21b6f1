// Filters the cases of a report and marks the words in which answers differ. Reads what is in the page, asks nobody.
"use strict";
(() => {
  const index = JSON.parse(document.getElementById("report-data").textContent);
  const form = document.getElementById("filters");
  if (!form) return;
  document.documentElement.classList.add("scripted");
  const field = (name) => form.elements.namedItem(name);
  const cards = new Map();
  for (const card of document.querySelectorAll("details.case")) cards.set(Number(card.dataset.place), card);
  const count = document.getElementById("shown");
  const MOST_WORDS = 600;

  const words = (text) => text.split(/(\s+)/).filter((word) => word !== "").slice(0, MOST_WORDS);

  // Longest common subsequence of words; both texts are cut at MOST_WORDS, so the table stays small.
  const common = (a, b) => {
    const width = b.length + 1;
    const table = new Uint16Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i--)
      for (let j = b.length - 1; j >= 0; j--)
        table[i * width + j] = a[i] === b[j]
          ? table[(i + 1) * width + j + 1] + 1
          : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    const kept = new Set();
    for (let i = 0, j = 0; i < a.length && j < b.length;) {
      if (a[i] === b[j]) { kept.add(j); i++; j++; }
      else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) i++;
      else j++;
    }
    return kept;
  };

  const textOf = (box) => {
    const pre = box.querySelector("pre");
    if (pre.dataset.empty !== undefined) return "";
    if (pre.dataset.whole === undefined) pre.dataset.whole = pre.textContent;
    return pre.dataset.whole;
  };

  const showDifference = (box, other) => {
    const pre = box.querySelector("pre");
    if (pre.dataset.empty !== undefined) return;
    const whole = textOf(box);
    if (other === null) { pre.textContent = whole; return; }
    const mine = words(whole), kept = common(words(other), mine);
    const parts = mine.map((word, place) => {
      if (kept.has(place) || /^\s+$/.test(word)) return document.createTextNode(word);
      const mark = document.createElement("mark");
      mark.textContent = word;
      return mark;
    });
    parts.push(document.createTextNode(whole.slice(mine.join("").length)));
    pre.replaceChildren(...parts);
  };

  const reference = (card, name) => {
    const found = [...card.querySelectorAll(".text")].find((box) => box.dataset.judge === name);
    return found ? textOf(found) : null;
  };

  const dress = (card) => {
    if (!card.open) return;
    const against = field("diff").value, judge = field("judge").value;
    const other = against === "" ? null : reference(card, against === "expected" ? "" : against.slice(2));
    for (const box of card.querySelectorAll(".answers .text")) {
      const name = box.dataset.judge;
      const isReference = against.startsWith("j ") && name === against.slice(2);
      box.hidden = judge !== "" && name !== judge && !isReference;
      if (against !== "" || box.dataset.dressed === "yes") {
        showDifference(box, isReference ? null : other);
        box.dataset.dressed = "yes";
      }
    }
  };

  const isWanted = (entry, card) => {
    const verdict = field("verdict").value, judge = field("judge").value;
    const verdicts = judge === "" ? Object.values(entry.verdicts) : [entry.verdicts[judge]].filter(Boolean);
    if (verdict === "disagree" ? !entry.disagree : verdict !== "" && !verdicts.includes(verdict)) return false;
    if (field("stratum").value !== "" && entry.stratum !== field("stratum").value.slice(2)) return false;
    const sought = field("text").value.trim().toLowerCase();
    return sought === "" || card.textContent.toLowerCase().includes(sought);
  };

  const refresh = () => {
    let shown = 0;
    index.cases.forEach((entry, place) => {
      const card = cards.get(place);
      card.hidden = !isWanted(entry, card);
      if (!card.hidden) shown++;
      dress(card);
    });
    count.textContent = shown + " of " + index.cases.length + " cases";
  };

  let waiting = 0;
  form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(refresh, 120); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(refresh, 0));
  for (const card of cards.values()) card.addEventListener("toggle", () => dress(card));
  refresh();
})();
