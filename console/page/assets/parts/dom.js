// Elements from function calls. Texts become text nodes: nothing from a server is ever parsed as
// markup.

import { complaint } from './api.js';
import { shown } from './format.js';

const svgNames = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value' || name === 'checked') element[name] = value;
    else element.setAttribute(name, value === true ? '' : name === 'title' || name === 'aria-label' ? shown(value) : value);
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children.flat(3)) {
    if (child === undefined || child === null || child === false) continue;
    // Values and commands are copied from a <pre>, and have lines of their own.
    element.append(child instanceof Node ? child : element.localName === 'pre' ? String(child) : shown(child));
  }
}

/** `h('a', { href, onclick }, 'text', element, [more])`. Attributes that are false, null or undefined are left out. */
export const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
/** The same for a drawing. */
export const s = (name, attributes, ...children) => fill(document.createElementNS(svgNames, name), attributes, children);

const canHaveFocus = 'a[href], button, input, select, textarea, summary, [tabindex]';

/**
 * Replaces the contents of `container`. Restores the focus: to the same control of the row with the
 * same data-key, or else of the container. So a table can be redrawn while a user navigates it.
 */
export function refill(container, ...children) {
  const held = container.contains(document.activeElement) && document.activeElement !== container ? document.activeElement : null;
  const row = held && held.closest('[data-key]');
  const key = row && container.contains(row) ? row.dataset.key : null;
  const within = (scope) => [...(scope.matches?.(canHaveFocus) ? [scope] : []), ...scope.querySelectorAll(canHaveFocus)];
  const place = held ? within(key === null ? container : row).indexOf(held) : -1;
  const scrolled = container.scrollTop;
  container.replaceChildren();
  add(container, children);
  container.scrollTop = scrolled;
  if (place < 0) return;
  const scope = key === null ? container : container.querySelector(`[data-key="${CSS.escape(key)}"]`) || container;
  const all = within(scope);
  all[Math.min(place, all.length - 1)]?.focus({ preventScroll: true });
}

let uniqueNumber = 0;
export const uniqueId = (prefix) => `${prefix}-${++uniqueNumber}`;

/** A label with its control below. */
export const field = (label, control, hint) => h('label', { class: 'field' }, h('span', {}, label), control, hint && h('span', { class: 'quiet small' }, hint));

/** @param kind main, danger, plain, or nothing */
export const button = (text, onclick, kind) => h('button', { type: 'button', class: kind, onclick }, text);

/** One of the words good, warn, bad, or none: a text with a shape, so that color is not the only sign. */
export const tag = (text, kind = '') => h('span', { class: `tag ${kind}` }, text);

/** A name that may be broken after its slashes. */
export const named = (name) => name.split('/').flatMap((part, i) => (i ? ['/', h('wbr'), part] : [part]));

/** Facts: pairs of a name and a value; those without a value are left out. */
export const facts = (...pairs) =>
  h('dl', { class: 'facts' },
    pairs.filter((p) => p && p[1] !== undefined && p[1] !== null && p[1] !== '')
      .map(([name, value, wide]) => h('div', { class: wide ? 'wide' : undefined }, h('dt', {}, name), h('dd', {}, value))));

export const panel = (title, actions, ...inside) =>
  h('section', { class: 'panel' }, h('header', {}, h('h2', {}, title), actions), ...inside);

export const empty = (text) => h('p', { class: 'empty' }, text);
/** Shown instead if the response is no success. */
export const refusal = (answer) => h('p', { class: 'empty error' }, complaint(answer));

/**
 * @param columns names; `Index #` is one of numbers, `(Actions)` is invisible but read out
 * @param rows of h('tr')
 */
export function table(caption, columns, rows) {
  const heading = (name) => {
    if (name.startsWith('(')) return h('th', { scope: 'col' }, h('span', { class: 'unseen' }, name.slice(1, -1)));
    const number = name.endsWith(' #');
    return h('th', { scope: 'col', class: number ? 'number' : undefined }, number ? name.slice(0, -2) : name);
  };
  return h('div', { class: 'scroll' }, h('table', {}, h('caption', { class: 'unseen' }, caption),
    h('thead', {}, h('tr', {}, columns.map(heading))), h('tbody', {}, rows)));
}
