// Running times: once a second every element with a time is updated.

import { h } from './dom.js';
import { duration } from './format.js';

const running = new Map();
// Updates only the visible ones of a thousand rows: each new text costs a layout of its table.
const seen = new Set();
const eyes = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries)
    if (!isIntersecting) seen.delete(target);
    else {
      seen.add(target);
      running.get(target)?.();
    }
});

function run(element, write) {
  running.set(element, write);
  eyes.observe(element);
  write();
  return element;
}

/** The duration of something that had lasted `ms` at `at` of performance.now(). */
export const since = (ms, at) => tick(ms, at, 1);
/** The remaining time of something that lasts `ms` from then on. */
export const until = (ms, at) => tick(ms, at, -1);

function tick(ms, at, direction) {
  const element = h('span', { class: 'nowrap' });
  return run(element, () => { element.textContent = duration(Math.max(0, ms + direction * (performance.now() - at))); });
}

/** A bar that runs down from `whole` milliseconds; `left` of them remained at `at`. */
export function bar(left, whole, at, label) {
  const progress = h('progress', { max: whole, 'aria-label': label });
  const text = h('span', { class: 'nowrap' });
  const element = h('span', { class: 'bar' }, progress, text);
  return run(element, () => {
    const now = Math.max(0, left - (performance.now() - at));
    progress.value = Math.min(now, whole);
    text.textContent = duration(now);
  });
}

setInterval(() => {
  for (const [element, write] of running)
    if (!element.isConnected) {
      running.delete(element);
      seen.delete(element);
      eyes.unobserve(element);
    } else if (seen.has(element)) write();
}, 1000);
