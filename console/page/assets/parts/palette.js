// Ctrl+K: opens every view, and a key or a lock by its name.

import { h, refill, uniqueId } from './dom.js';
import { to } from './places.js';

export function openPalette(views) {
  if (document.querySelector('dialog[open]')) return;
  let chosen = 0, found = [];
  const list = h('ol', { id: uniqueId('found'), role: 'listbox', 'aria-label': 'Results' });
  const input = h('input', {
    type: 'text', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': list.id, 'aria-label': 'Go to', autofocus: true, autocomplete: 'off',
    placeholder: 'View, key or lock …',
    oninput: () => { chosen = 0; draw(); },
    onkeydown: (e) => {
      if (e.key !== 'ArrowDown' && e.key !== 'ArrowUp') return;
      e.preventDefault();
      chosen = (chosen + (e.key === 'ArrowDown' ? 1 : found.length - 1)) % Math.max(1, found.length);
      draw();
    },
  });
  const draw = () => {
    const text = input.value.trim();
    found = views.filter((v) => v.title.toLowerCase().includes(text.toLowerCase())).map((v) => ({ title: v.title, kind: 'view', place: to(v.name) }));
    if (text)
      found.push(...[['key', to('keys', text)], ['claim', to('locks', 'claim', text)], ['lock of a key', to('locks', 'key', text)]].map(([kind, place]) => ({ title: text, kind, place })));
    refill(list, found.map((f, i) =>
      h('li', { id: `${list.id}-${i}`, role: 'option', 'aria-selected': i === chosen ? 'true' : 'false', onclick: () => go(f) }, h('span', {}, f.title), h('span', { class: 'quiet small' }, f.kind))));
    if (found.length) input.setAttribute('aria-activedescendant', `${list.id}-${chosen}`);
  };
  const go = (f) => {
    dialog.close();
    if (f) location.hash = f.place;
  };
  const dialog = h('dialog', { class: 'palette', 'aria-label': 'Go to', onclose: () => dialog.remove() },
    h('form', { method: 'dialog', onsubmit: (e) => { e.preventDefault(); go(found[chosen]); } }, input, list));
  document.body.append(dialog);
  draw();
  dialog.showModal();
}
