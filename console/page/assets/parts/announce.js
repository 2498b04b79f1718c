// Announcements for screen readers: one line, read out when it changes.

import { h } from './dom.js';

const line = h('p', { class: 'unseen', role: 'status', 'aria-live': 'polite' });
document.body.append(line);

export function announce(text) {
  line.textContent = '';
  setTimeout(() => { line.textContent = text; }, 50);
}
