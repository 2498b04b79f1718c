// The keys: a tree that is loaded as it is opened and follows the changes, and beside it the
// selection.

import { count, counted } from '../parts/format.js';
import { button, field, h, panel } from '../parts/dom.js';
import { KeyTree, isFolder } from '../parts/key_tree.js';
import { RowBox } from '../parts/row_box.js';
import { hidden, onAccess, partly } from '../parts/access.js';
import { call, complaint, streamProblem } from '../parts/api.js';
import { Detail } from '../parts/detail.js';
import { ask, copyCall } from '../parts/dialog.js';
import { announce } from '../parts/announce.js';
import { isOdd, operands, putWords } from '../parts/calls.js';
import { levelOf, lookBelow, writeKey } from '../parts/key_names.js';
import { follow } from '../parts/link.js';
import { to } from '../parts/places.js';
import { showKey } from './keys_value.js';
import { showFolder } from './keys_folder.js';

const foundMax = 1000;

export function show(main, rest) {
  const tree = new KeyTree();
  const says = h('p', { class: 'says', 'aria-live': 'polite' });
  const detail = new Detail('Select a key to see its value, or a folder to see how many keys it has.', (box_, name) => (isFolder(name) ? showFolder(box_, name, tree) : showKey(box_, name)));
  const filter = h('input', { type: 'search', 'aria-label': 'Filter loaded keys', placeholder: 'Filter loaded keys …', oninput: () => draw() });
  const search = button('Search all keys', () => searchServer());
  const box = new RowBox('Keys', {
    activate: (row) => { location.hash = to('keys', row.name); },
    open: (row) => row.folder && openLevel(row.name),
    close: (row) => { tree.close(row.name); draw(); },
  });
  let chosen = '', ended = false, timer = null, problem = '', live = '';
  const stale = new Set();

  main.append(
    h('div', { class: 'head' }, h('h1', {}, 'Keys'), says,
      button('New key', () => create(), 'main')),
    h('div', { class: 'split tree' },
      panel('Tree', [filter, search, copyCall('One level of the tree', () => listing(folder()), () => ['kv', 'get', '-keys', '-separator=/', ...operands(folder())])], box.element),
      detail.element));

  const folder = () => chosen.slice(0, chosen.lastIndexOf('/') + 1);
  const listing = (prefix) => lookBelow(prefix, { separator: '/' });

  async function load(prefix) {
    try {
      const { body } = await call(listing(prefix));
      tree.load(prefix, levelOf(prefix, body));
      problem = '';
    } catch (refused) {
      // Without an answer, a level that was loaded before stays as it was.
      if (refused.status === 404) tree.load(prefix, []);
      problem = refused.status === 404 ? '' : `${tree.level('').length ? 'Shown: the last known keys. ' : ''}${complaint(refused)}`;
    }
  }

  async function openLevel(prefix) {
    tree.open(prefix);
    if (!tree.has(prefix)) {
      const began = performance.now();
      await load(prefix);
      box.element.dataset.loadMs = Math.round(performance.now() - began);
    }
    draw();
  }

  function draw(fresh) {
    const text = filter.value.trim();
    const rows = text ? tree.found(text, foundMax) : tree.rows();
    box.set(rows.map((row) => (row.folder && row.open ? { ...row, count: count(tree.level(row.name).length) } : row)), chosen, fresh);
    if (text) says.textContent = `${counted(rows.length, 'match', 'matches')} among the loaded keys`;
    else if (problem || live) says.textContent = problem || live;
    else if (!tree.has('')) says.textContent = 'Loading …';
    else if (!rows.length) says.textContent = hidden('keys', 'key') || 'No keys yet. Create one with New key or belay kv put.';
    else says.textContent = `${counted(tree.level('').length, 'top-level entry', 'top-level entries')}${partly('key')}`;
    search.hidden = !text;
  }

  async function searchServer() {
    const text = filter.value.trim();
    says.textContent = 'Searching all keys …';
    try {
      const { body } = await call({ path: '/v1/kv/', parameters: { recurse: true, filter: `Key contains ${JSON.stringify(text)}` } });
      box.set(body.slice(0, foundMax).map((k) => ({ name: k.Key, label: k.Key, depth: 0, folder: false })), chosen);
      says.textContent = `${counted(body.length, 'key')} found${body.length > foundMax ? `, the first ${count(foundMax)} shown` : ''}`;
    } catch (refused) {
      says.textContent = refused.status === 404 ? `No key has “${text}” in its name.` : complaint(refused);
    }
  }

  function create() {
    const name = h('input', { type: 'text', value: folder(), autofocus: true });
    const value = h('textarea', {});
    ask({
      title: 'New key', verb: 'Create', inputs: [field('Key', name), field('Value', value)],
      explain: h('p', {}, 'The key is created only if it does not exist.'),
      check: () => (name.value ? '' : 'Enter the name of the key.'),
      call: () => writeKey(name.value, value.value, 0),
      belay: () => (isOdd(name.value) ? null : putWords(name.value, value.value, '-cas', '-modify-index=0')),
      done: () => { location.hash = to('keys', name.value); },
    });
  }

  const endFollowing = follow({}, ({ list, total, gap, state }) => {
    const liveBefore = live;
    live = state === 'open' || state === 'opening' || state === 'interrupted' ? '' : `Changes are not shown. ${streamProblem(state)}`;
    if (live !== liveBefore) draw();
    if (live) return;
    if (state === 'open' && problem) stale.add('');
    // Of many changes only some are reported: then open levels are loaded again, at most once a
    // second.
    const all = gap || total > list.length || list.some((c) => c.event === 'reset');
    const { moved: rowsMoved, stale: gone } = all ? { moved: false, stale: [] } : tree.apply(list);
    for (const prefix of gone) stale.add(prefix);
    if (all) stale.add('');
    if (rowsMoved || list.length) draw(new Set(list.filter((c) => c.event === 'set').map((c) => c.Key)));
    if (stale.size && !timer) timer = setTimeout(reload, 1000);
  });

  async function reload() {
    const wanted = stale.has('') ? ['', ...tree.rows().filter((r) => r.open).map((r) => r.name)] : [...stale];
    stale.clear();
    await Promise.all(wanted.map(load));
    draw();
    timer = stale.size ? setTimeout(reload, 1000) : null;
  }

  async function moved(to_) {
    const before = chosen;
    chosen = to_.join('/');
    const mine = chosen;
    // Opens the levels above, so that the selection is visible.
    if (!tree.has('')) await load('');
    for (let at = chosen.indexOf('/'); at !== -1; at = chosen.indexOf('/', at + 1)) {
      const prefix = chosen.slice(0, at + 1);
      if (prefix === chosen && before.startsWith(chosen) && tree.isOpen(prefix)) break;
      await openLevel(prefix);
    }
    if (ended || chosen !== mine) return; // superseded meanwhile
    draw();
    box.reveal(chosen);
    detail.choose(chosen);
    if (chosen) announce(`Selected: ${chosen}`);
  }

  const endAccess = onAccess(() => draw());
  moved(rest);
  return {
    moved,
    end() {
      endFollowing();
      endAccess();
      ended = true;
      detail.end();
      clearTimeout(timer);
    },
  };
}
