// The keys below a prefix, and the removal of all of them: first it is counted and shown.

import { count, counted } from '../parts/format.js';
import { button, empty, facts, h, panel, refill } from '../parts/dom.js';
import { call, complaint } from '../parts/api.js';
import { ask, copyCall } from '../parts/dialog.js';
import { isOdd, operands } from '../parts/calls.js';
import { deleteBelow, lookBelow, namesBelow } from '../parts/key_names.js';

const previewed = 20;

/** @returns a function that ends it */
export function showFolder(box, prefix, tree) {
  const names = tree.level(prefix);
  const folders = names.filter((n) => n.endsWith('/') && n !== prefix).length;
  const looked = lookBelow(prefix);
  refill(box, panel(prefix,
    [copyCall(`All keys under ${prefix}`, looked, isOdd(prefix) ? null : ['kv', 'get', '-keys', ...operands(prefix)]),
      button('Delete all keys', () => remove(prefix), 'danger')],
    h('div', { class: 'inside' }, facts(['Keys at this level', count(names.length - folders)], ['Folders at this level', count(folders)]))));
  return () => {};
}

async function remove(prefix) {
  const preview = h('div', {}, empty('Counting keys …'));
  const confirmed = h('input', { type: 'checkbox' });
  let all = null;
  const dialog = ask({
    title: `Delete all keys under ${prefix}`, verb: 'Delete', danger: true,
    inputs: [preview, h('label', { class: 'choice' }, confirmed, 'I understand that these keys will be deleted')],
    check: () => (all === null ? 'Counting the keys first …' : confirmed.checked ? '' : 'Confirm above to continue.'),
    call: () => deleteBelow(prefix),
    belay: () => (isOdd(prefix) ? null : ['kv', 'delete', '-recurse', ...operands(prefix)]),
    done: () => { location.hash = '#/keys'; },
  });
  try {
    all = namesBelow(prefix, (await call(lookBelow(prefix))).body);
  } catch (refused) {
    refill(preview, h('p', { class: 'error' }, refused.status === 404 ? 'There are no keys under this prefix.' : complaint(refused)));
    return;
  }
  refill(preview, h('p', {}, h('strong', {}, counted(all.length, 'key')), ' at present; keys that are written until you confirm are deleted, too:'),
    h('ul', { class: 'mono value' }, all.slice(0, previewed).map((k) => h('li', {}, k)), all.length > previewed && h('li', {}, `… and ${count(all.length - previewed)} more`)));
  dialog.querySelector('form').dispatchEvent(new Event('input'));
}
