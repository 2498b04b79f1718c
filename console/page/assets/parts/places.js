// Places in the console: `#/locks/claim/NAME`. The rest of a place is one name with its slashes,
// escaped as in paths.

import { escaped } from './calls.js';

export function read(hash = location.hash) {
  const [view = '', ...rest] = hash.replace(/^#\/?/, '').split('/').map((part) => {
    try { return decodeURIComponent(part); } catch { return part; }
  });
  return { view, rest };
}

export const to = (view, ...rest) => `#/${[view, ...rest].map(escaped).join('/')}`;
