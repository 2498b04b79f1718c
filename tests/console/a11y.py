"""What WCAG 2.1 AA asks of a page and a program can see: contrast, names of controls, headings, labels of tables. axe-core, where it is
there, sees more (axe.py)."""

# Every text that is seen, with its colour and what is behind it; what is too faint for its size (1.4.3), as lines of text.
CONTRAST = r"""
(() => {
  const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return { r: m[0], g: m[1], b: m[2], a: m[3] ?? 1 }; };
  const over = (top, under) => ({ r: top.r * top.a + under.r * (1 - top.a), g: top.g * top.a + under.g * (1 - top.a), b: top.b * top.a + under.b * (1 - top.a), a: 1 });
  const light = (c) => { const f = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; return 0.2126 * f(c.r) + 0.7152 * f(c.g) + 0.0722 * f(c.b); };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const behind = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) { const c = parse(getComputedStyle(at).backgroundColor); if (c.a > 0) { layers.push(c); if (c.a === 1) break; } }
    return layers.reverse().reduce((under, top) => over(top, under), { r: 255, g: 255, b: 255, a: 1 });
  };
  const found = [];
  let seen = 0;
  const scope = document.querySelector('dialog[open]') || document.body;
  const walk = document.createTreeWalker(scope, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const e = node.parentElement, style = getComputedStyle(e);
    if (!node.data.trim() || !e.checkVisibility({ visibilityProperty: true }) || e.closest('.unseen, .skip, :disabled, noscript, option')) continue;
    seen += 1;
    const svg = e.ownerSVGElement;
    const colour = parse(svg ? style.fill : style.color);
    const back = svg ? behind(svg.parentElement) : behind(e);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const r = ratio(over(colour, back), back);
    if (r < (large ? 3 : 4.5)) found.push(`${r.toFixed(2)} of "${node.data.trim().slice(0, 40)}" in ${e.tagName.toLowerCase()}.${e.getAttribute('class')}`);
  }
  for (const e of scope.querySelectorAll('input:not([type=checkbox]), select, textarea, button')) {
    if (!e.checkVisibility() || e.disabled || e.matches('.plain')) continue;
    const style = getComputedStyle(e), r = ratio(parse(style.borderTopColor), behind(e.parentElement));
    if (r < 3) found.push(`${r.toFixed(2)} of the line around ${e.tagName.toLowerCase()} "${e.textContent || e.getAttribute('aria-label')}"`);
  }
  return { seen, found };
})()
"""

STRUCTURE = r"""
(() => {
  const found = [];
  const say = (ok, text) => ok || found.push(text);
  say(document.documentElement.lang, 'no language of the page');
  say(document.title.includes('Belay'), 'no title');
  say(document.querySelectorAll('h1').length === 1, `${document.querySelectorAll('h1').length} headings of the first level`);
  const levels = [...document.querySelectorAll('main h1, main h2, main h3, main h4')].map((e) => Number(e.tagName[1]));
  levels.forEach((l, i) => say(i === 0 || l <= levels[i - 1] + 1, `a heading of level ${l} behind one of ${levels[i - 1]}`));
  for (const t of document.querySelectorAll('table')) {
    say(t.caption, 'a table without a caption');
    say([...t.querySelectorAll('th')].every((c) => c.scope), 'a heading of a table without a scope');
    for (const row of t.tBodies[0].rows) say([...row.cells].reduce((n, c) => n + c.colSpan, 0) === t.tHead.rows[0].cells.length, `a row of "${t.caption?.textContent}" that does not have the columns of its table`);
  }
  for (const e of document.querySelectorAll('img')) say(e.hasAttribute('alt'), 'a picture without a text');
  for (const e of document.querySelectorAll('[role=img]')) say(e.getAttribute('aria-label'), 'a drawing without a text');
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  for (const id of ids) say(ids.filter((x) => x === id).length === 1, `the id ${id} twice`);
  for (const a of document.querySelectorAll('[aria-controls], [aria-activedescendant]')) for (const n of ['aria-controls', 'aria-activedescendant']) { const id = a.getAttribute(n); say(!id || document.getElementById(id), `${n} of nothing: ${id}`); }
  for (const e of document.querySelectorAll('main *')) if (e.scrollHeight > e.clientHeight + 1 && ['auto', 'scroll'].includes(getComputedStyle(e).overflowY) && e.clientHeight > 0) say(e.tabIndex >= 0 || e.querySelector('a[href], button, input, [tabindex]'), `what scrolls and cannot be reached by keyboard: ${e.className}`);
  const wide = document.documentElement.scrollWidth - innerWidth;
  say(wide <= 0, `the page is ${wide} pixels wider than the window`);
  return found;
})()
"""

NAMED = {"button", "link", "textbox", "searchbox", "combobox", "checkbox", "spinbutton", "listbox", "tree", "treeitem", "dialog", "option", "progressbar", "image", "region", "navigation"}


def problems(page, looked_at_min=10):
    """Of the page as it is now, or of the dialog that is open in it, as lines of text. Fewer texts or controls than that are a problem, too."""
    contrast = page.run(CONTRAST)
    out = [f"contrast: {line}" for line in contrast["found"]]
    if contrast["seen"] < looked_at_min:
        out.append(f"only {contrast['seen']} texts were looked at")
    out += [f"structure: {line}" for line in page.run(STRUCTURE)]
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    controls = 0
    for node in nodes:
        role = node.get("role", {}).get("value")
        if node.get("ignored") or role not in NAMED:
            continue
        controls += 1
        if not node.get("name", {}).get("value", "").strip():
            out.append(f"no name: a {role}")
    if controls < looked_at_min:
        out.append(f"only {controls} controls were looked at")
    return out
