// What page_checks.py asks of a page, by name.
({
  unnamed() {
    const visible = el => el.checkVisibility();
    const named = el => (el.getAttribute("aria-label") || el.textContent || "").trim()
      || [...(el.labels || [])].some(label => label.textContent.trim());
    const found = [];
    for (const el of document.querySelectorAll("input:not([type=hidden]), select, textarea, button, a, summary, th, [role=img]"))
      if (visible(el) && !named(el)) found.push(el.outerHTML.slice(0, 120));
    return found;
  },
  cutOff() {
    const found = [];
    const page = document.documentElement;
    if (page.scrollWidth > page.clientWidth) found.push(`the page: ${page.scrollWidth} of ${page.clientWidth}`);
    for (const el of document.querySelectorAll(".scroll, figure"))
      if (el.scrollWidth > el.clientWidth + 1) found.push(`${el.className || el.tagName}: ${el.scrollWidth} of ${el.clientWidth}`);
    return found;
  },
  outOfReach() {
    const width = document.documentElement.clientWidth, found = [];
    if (document.documentElement.scrollWidth > width) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
    for (const el of document.querySelectorAll("input:not([type=hidden]), select, textarea, button, a")) {
      const box = el.getBoundingClientRect();
      if (el.checkVisibility() && box.right > width + 1 && !el.closest(".scroll, figure, .skip"))
        found.push(`${Math.round(box.right)} of ${width}: ${el.outerHTML.slice(0, 100)}`);
    }
    return found;
  },
  // Text against what is painted behind it: the backgrounds of its ancestors, in a chart the boxes drawn before it.
  faint(least) {
    const rgba = text => {
      const parts = text.match(/[\d.]+/g)?.map(Number);
      return parts && text.startsWith("rgb") ? [parts[0], parts[1], parts[2], parts[3] ?? 1] : null;
    };
    const over = (top, bottom) => top.slice(0, 3).map((one, i) => one * top[3] + bottom[i] * (1 - top[3]));
    const light = colour => {
      const [r, g, b] = colour.map(one => one / 255).map(one => one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
    const behind = el => {
      let colour = rgba(getComputedStyle(document.body).backgroundColor).slice(0, 3);
      const line = [];
      for (let at = el; at; at = at.parentElement) line.unshift(at);
      for (const at of line) { const own = rgba(getComputedStyle(at).backgroundColor); if (own?.[3]) colour = over(own, colour); }
      const chart = el.closest("svg");
      if (!chart) return colour;
      const box = el.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
      for (const rect of chart.querySelectorAll("rect")) {
        const at = rect.getBoundingClientRect(), style = getComputedStyle(rect), fill = rgba(style.fill);
        if (!fill || x < at.left || x > at.right || y < at.top || y > at.bottom) continue;
        if (rect.compareDocumentPosition(el) & Node.DOCUMENT_POSITION_FOLLOWING)
          colour = over([...fill.slice(0, 3), fill[3] * style.fillOpacity * style.opacity], colour);
      }
      return colour;
    };
    const found = new Set(), seen = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (seen.nextNode()) {
      const el = seen.currentNode.parentElement;
      if (!seen.currentNode.textContent.trim() || !el.checkVisibility() || el.closest("title, desc, option, datalist, template")) continue;
      const style = getComputedStyle(el), paint = rgba(el.closest("svg") ? style.fill : style.color);
      const back = behind(el), got = ratio(over(paint, back), back);
      if (got < least) found.add(`${got.toFixed(2)}: ${el.tagName}.${el.getAttribute("class")} ${seen.currentNode.textContent.trim().slice(0, 40)}`);
    }
    return [...found];
  },
  focused() {
    const el = document.activeElement, style = getComputedStyle(el), box = el.getBoundingClientRect();
    return {
      place: [...document.querySelectorAll("*")].indexOf(el),
      name: (el.getAttribute("aria-label") || el.textContent || el.name || "").trim().slice(0, 40),
      outline: style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth),
      seen: box.width > 0 && box.height > 0 && box.left >= 0 && box.top >= 0 && box.top < innerHeight,
    };
  },
})
