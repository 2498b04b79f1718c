// How long the lock of a key has been held. The state has only the index of the grant; a server
// remembers its indexes of the last hour with their times.

import { h } from './dom.js';
import { since } from './clock.js';
import { timeOfIndex } from './numbers.js';
import { series } from './samples.js';

/** @param index of the grant, or undefined */
export function heldFor(index) {
  const known = index === undefined ? undefined : timeOfIndex(series.points, index);
  if (!known) return h('span', { class: 'quiet' }, index === undefined ? 'unknown' : `since index ${index}`);
  return h('span', { class: 'nowrap' }, known.exactly ? 'about ' : 'over ', since(Math.max(0, Date.now() - known.at), performance.now()));
}
