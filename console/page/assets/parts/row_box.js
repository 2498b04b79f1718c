// A long list of rows of which only the visible ones exist, navigated with the keys of a tree
// (WAI-ARIA, pattern "tree view").

import { h, uniqueId } from './dom.js';

const around = 8; // rows above and below the screen that exist, too

export class RowBox {
  #rows = [];
  #chosen = '';
  #fresh = new Set();
  #active = 0;
  #height;
  #id = uniqueId('row');

  /** @param does { activate(row), open(row), close(row) } */
  constructor(label, does) {
    this.does = does;
    this.space = h('div', { role: 'presentation' });
    this.element = h('div', {
      class: 'tree-box', role: 'tree', tabindex: 0, 'aria-label': label,
      onscroll: () => this.#draw(), onkeydown: (e) => this.#key(e), onclick: (e) => this.#click(e),
    }, this.space);
    this.space.style.position = 'relative';
  }

  /** @param rows [{ name, label, depth, folder, open, size, place, count }] @param fresh names that were just written */
  set(rows, chosen, fresh = new Set()) {
    const was = this.#rows[this.#active]?.name;
    this.#rows = rows;
    this.#chosen = chosen;
    this.#fresh = fresh;
    if (was !== undefined && rows[this.#active]?.name !== was) {
      const now = rows.findIndex((r) => r.name === was);
      this.#active = now < 0 ? Math.min(this.#active, Math.max(0, rows.length - 1)) : now;
    }
    this.#draw();
    this.#fresh = new Set();
  }

  /** Scrolls to that row and makes it the active one. */
  reveal(name) {
    const at = this.#rows.findIndex((r) => r.name === name);
    if (at >= 0) this.#go(at);
  }

  #go(at) {
    this.#active = Math.max(0, Math.min(at, this.#rows.length - 1));
    const top = this.#active * this.#rowHeight();
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + this.#rowHeight() > scrollTop + clientHeight) this.element.scrollTop = top + this.#rowHeight() - clientHeight;
    this.#draw();
  }

  #rowHeight() {
    this.#height ??= parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row')) || 30;
    return this.#height;
  }

  #draw() {
    const height = this.#rowHeight();
    this.space.style.height = `${this.#rows.length * height}px`;
    const first = Math.max(0, Math.floor(this.element.scrollTop / height) - around);
    const last = Math.min(this.#rows.length, Math.ceil((this.element.scrollTop + (this.element.clientHeight || 600)) / height) + around);
    const drawn = [];
    for (let i = first; i < last; ++i) drawn.push(this.#row(this.#rows[i], i, height));
    this.space.replaceChildren(...drawn);
    // The active row exists even if it is not visible.
    if (this.#rows.length && (this.#active < first || this.#active >= last)) this.space.append(this.#row(this.#rows[this.#active], this.#active, height));
    if (this.#rows.length) this.element.setAttribute('aria-activedescendant', `${this.#id}-${this.#active}`);
    else this.element.removeAttribute('aria-activedescendant');
  }

  #row(row, at, height) {
    const kinds = ['tree-row', row.name === this.#chosen && 'chosen', at === this.#active && 'active', this.#fresh.has(row.name) && 'fresh'];
    const element = h('div', {
      class: kinds.filter(Boolean).join(' '), id: `${this.#id}-${at}`, role: 'treeitem', 'data-at': at,
      'aria-level': row.depth + 1, 'aria-setsize': row.size, 'aria-posinset': row.place,
      'aria-expanded': row.folder ? String(Boolean(row.open)) : undefined, 'aria-selected': String(row.name === this.#chosen),
    }, h('span', { class: 'twist', 'aria-hidden': 'true' }, row.folder ? (row.open ? '▾' : '▸') : ''), h('span', { class: 'name', title: row.name }, row.label),
    row.count !== undefined && h('span', { class: 'count' }, row.count));
    element.style.top = `${at * height}px`;
    element.style.paddingLeft = `${8 + row.depth * 18}px`;
    return element;
  }

  #click(e) {
    const element = e.target.closest('[data-at]');
    if (!element) return;
    const at = Number(element.dataset.at);
    const row = this.#rows[at];
    this.#active = at;
    if (row.folder && (e.target.closest('.twist') || row.name === this.#chosen)) row.open ? this.does.close(row) : this.does.open(row);
    else this.does.activate(row);
  }

  #key(e) {
    const row = this.#rows[this.#active];
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.#rowHeight()) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.#rows.length, End: this.#rows.length };
    if (!row || e.altKey || e.ctrlKey || e.metaKey) return;
    if (e.key in moves) this.#go(this.#active + moves[e.key]);
    else if (e.key === 'ArrowRight' && row.folder) row.open ? this.#go(this.#active + 1) : this.does.open(row);
    else if (e.key === 'ArrowLeft' && row.folder && row.open) this.does.close(row);
    else if (e.key === 'ArrowLeft') this.#go(this.#rows.findLastIndex((r, i) => i < this.#active && r.depth < row.depth));
    else if (e.key === 'Enter' || e.key === ' ') this.does.activate(row);
    else return;
    e.preventDefault();
  }
}
