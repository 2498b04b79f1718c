// The keys: a tree that is loaded as it is opened and follows the changes, and beside it the
// selection.

import { count, counted } from '../parts/format.js';
import { button, field, h, panel } from '../parts/dom.js';
import { KeyTree, isFolder } from '../parts/key_tree.js';
import { RowBox } from '../parts/row_box.js';
import { call, complaint } from '../parts/api.js';
import { Detail } from '../parts/detail.js';
import { ask, copyCall } from '../parts/dialog.js';
import { announce } from '../parts/announce.js';
import { isOdd, putWords } from '../parts/calls.js';
import { levelOf, lookBelow, writeKey } from '../parts/key_names.js';
import { follow } from '../parts/link.js';
import { to } from '../parts/places.js';
import { showKey } from './keys_value.js';
import { showFolder } from './keys_folder.js';

const foundMax = 1000;

export function show(main, rest) {
  const tree = new KeyTree();
  const says = h('p', { class: 'says', 'aria-live': 'polite' });
  const detail = new Detail('Choose a key to see its value, or a folder to see what is below it.', (box_, name) => (isFolder(name) ? showFolder(box_, name, tree) : showKey(box_, name)));
  const filter = h('input', { type: 'search', 'aria-label': 'Filter what is loaded', placeholder: 'Filter what is loaded …', oninput: () => draw() });
  const search = button('Search the server', () => searchServer());
  const box = new RowBox('Keys', {
    activate: (row) => { location.hash = to('keys', row.name); },
    open: (row) => row.folder && openLevel(row.name),
    close: (row) => { tree.close(row.name); draw(); },
  });
  let chosen = '', ended = false, timer = null;
  const stale = new Set();

  main.append(
    h('div', { class: 'head' }, h('h1', {}, 'Keys'), says,
      button('New key', () => create(), 'main')),
    h('div', { class: 'split tree' },
      panel('Tree', [filter, search, copyCall('One level of the tree', () => listing(folder()), () => ['kv', 'get', '-keys', '-separator=/', folder()])], box.element),
      detail.element));

  const folder = () => chosen.slice(0, chosen.lastIndexOf('/') + 1);
  const listing = (prefix) => lookBelow(prefix, { separator: '/' });

  async function load(prefix) {
    try {
      const { body } = await call(listing(prefix));
      tree.load(prefix, levelOf(prefix, body));
    } catch (refused) {
      tree.load(prefix, []);
      if (refused.status !== 404) says.textContent = complaint(refused);
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
    if (text) says.textContent = `${counted(rows.length, 'match', 'matches')} in what is loaded`;
    else if (!rows.length) says.textContent = 'There are no keys you may see.';
    else says.textContent = `${counted(tree.level('').length, 'entry', 'entries')} at the top, ${counted(rows.length, 'row')} shown`;
    search.hidden = !text;
  }

  async function searchServer() {
    const text = filter.value.trim();
    says.textContent = 'The server looks at all keys …';
    try {
      const { body } = await call({ path: '/v1/kv/', parameters: { recurse: true, filter: `Key contains ${JSON.stringify(text)}` } });
      box.set(body.slice(0, foundMax).map((k) => ({ name: k.Key, label: k.Key, depth: 0, folder: false })), chosen);
      says.textContent = `${counted(body.length, 'key')} of the server${body.length > foundMax ? `, the first ${count(foundMax)} are shown` : ''}`;
    } catch (refused) {
      says.textContent = refused.status === 404 ? 'No key of the server has that in its name.' : complaint(refused);
    }
  }

  function create() {
    const name = h('input', { type: 'text', value: folder(), autofocus: true });
    const value = h('textarea', {});
    ask({
      title: 'New key', verb: 'Write', inputs: [field('Key', name), field('Value', value)],
      explain: h('p', {}, 'It is written only if there is no key of that name.'),
      check: () => (name.value ? '' : 'Give it a name.'),
      call: () => writeKey(name.value, value.value, 0),
      belay: () => (isOdd(name.value) ? null : putWords(name.value, value.value, '-cas', '-modify-index=0')),
      done: () => { location.hash = to('keys', name.value); },
    });
  }

  const endFollowing = follow({}, ({ list, total, gap, state }) => {
    if (state !== 'open' && state !== 'opening' && state !== 'interrupted') { says.textContent = 'Without changes: ' + state; return; }
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
    if (chosen) announce(`Chosen: ${chosen}`);
  }

  moved(rest);
  return {
    moved,
    end() {
      endFollowing();
      ended = true;
      detail.end();
      clearTimeout(timer);
    },
  };
}
