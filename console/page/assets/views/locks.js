// Holders, with times, and waiting sessions: claims and locks of keys.

import { count, counted, shortId } from '../parts/format.js';
import { button, empty, h, named, panel, refill, table, tag } from '../parts/dom.js';
import { since } from '../parts/clock.js';
import { Detail } from '../parts/detail.js';
import { hidden, onAccess, partly } from '../parts/access.js';
import { complaint } from '../parts/api.js';
import { resources } from '../parts/claims.js';
import { copyCall } from '../parts/dialog.js';
import { operands, target } from '../parts/calls.js';
import { watch } from '../parts/link.js';
import { heldFor } from '../parts/held_for.js';
import { onMetrics } from '../parts/samples.js';
import { watchLockedKeys } from '../parts/locked_keys.js';
import { to } from '../parts/places.js';
import { showGraph } from './locks_graph.js';
import { showResource } from './locks_resource.js';

const rowsMax = 300;

export function show(main, rest) {
  const list = h('div', {});
  const detail = new Detail('Select a name to see its holders and its queue.', (box, chosen) => {
    const [space, ...name] = chosen.split('/');
    return showResource(box, space, name.join('/'));
  });
  const says = h('p', { class: 'says', 'aria-live': 'polite' });
  const prefix = h('input', { type: 'search', placeholder: 'Name prefix …', 'aria-label': 'Name prefix', onchange: () => begin() });
  const onlyQueues = h('input', { type: 'checkbox', onchange: () => draw() });
  const tabs = h('div', { class: 'tabs', role: 'group', 'aria-label': 'List or graph' });
  const listBox = h('div', { class: 'split wide' }, list, detail.element);
  const graphBox = h('div', {});
  let claims = null, locks = null, more = false, rowsShown = rowsMax, ends = [], endGraph = null;

  main.append(h('div', { class: 'head' }, h('h1', {}, 'Locks'), says, tabs), listBox, graphBox);

  const claimsCall = () => ({ path: '/v1/claims', parameters: { prefix: prefix.value || undefined } });

  function begin(always = false) {
    for (const end of ends) end();
    claims = locks = null;
    rowsShown = rowsMax;
    ends = [
      watch(target(claimsCall().path, claimsCall().parameters), (answer) => {
        claims = answer;
        more = Boolean(answer.headers['x-belay-next']);
        draw();
      }),
      watchLockedKeys({ prefix: prefix.value, always }, (answer) => { locks = answer; draw(); }),
    ];
    draw();
  }

  function draw() {
    if (!claims) return refill(list, panel('All', null, empty('Loading …')));
    const at = performance.now() - (Date.now() - claims.at);
    const problem = claims.status !== 200 ? complaint(claims) : locks?.status && locks.status !== 200 && locks.status !== 404 ? complaint(locks) : '';
    const all = resources(claims.status === 200 ? claims.body : [], locks?.status === 200 ? locks.body : []);
    const shown = all.filter((r) => !onlyQueues.checked || r.queue.length);
    const waiting = all.reduce((n, r) => n + r.queue.length, 0);
    says.textContent = problem || `${counted(all.length, 'name')}${more ? ' in the first 1,000 rows: enter a prefix to see the others' : ''}, ${count(waiting)} waiting${partly('key')}`;
    refill(list, panel('All',
      [h('label', { class: 'choice' }, onlyQueues, 'With a queue'), prefix,
        copyCall('This list', claimsCall(), ['claims', 'list', ...(prefix.value ? operands(prefix.value) : [])])],
      problem ? h('p', { class: 'empty error' }, problem)
        : !shown.length ? empty(locks ? nothing() : 'Loading locks of keys …')
          : [table('Locks and their queues',
            ['Name', 'Holder', 'Held for', 'Waiting #'],
            shown.slice(0, rowsShown).map((r) => row(r, at))),
          shown.length > rowsShown && h('p', { class: 'empty' }, `${count(rowsShown)} of ${counted(shown.length, 'name')} `, button('Show more', () => { rowsShown += rowsMax; draw(); }))],
      locks?.skipped && h('p', { class: 'empty' }, `Locks of keys without waiters are not listed: to find them, the server scans all ${count(locks.skipped)} keys. Enter a prefix, or `,
        button('scan all keys', () => begin(true)))));
  }

  function nothing() {
    if (hidden('locks', 'key')) return hidden('locks', 'key');
    if (onlyQueues.checked) return 'No session waits for a lock. Locks with a queue appear here.';
    if (prefix.value) return 'No lock with this prefix is held or waited for.';
    return ['No lock is held or waited for. Acquire one with ', h('code', {}, 'belay lock NAME COMMAND'), ', and it appears here.'];
  }

  function row(r, at) {
    const isChosen = detail.chosen === `${r.space}/${r.name}`;
    const first = r.holders[0];
    return h('tr', { 'data-key': `${r.space}/${r.name}`, class: isChosen ? 'chosen' : undefined },
      h('th', { scope: 'row' }, h('a', { href: to('locks', r.space, r.name), 'aria-current': isChosen ? 'true' : undefined }, named(r.name)),
        r.space === 'key' && h('span', { class: 'quiet small' }, ' key')),
      h('td', {}, holder(r)),
      h('td', { class: 'tight' }, !first ? '–' : first.HeldMs === undefined ? heldFor(first.Index) : since(first.HeldMs, at)),
      h('td', { class: 'number' }, r.queue.length ? tag(String(r.queue.length), 'warn') : '0'));
  }

  function holder({ holders }) {
    if (!holders.length) return h('span', { class: 'quiet' }, 'none');
    if (holders.length > 1) return h('span', { class: 'nowrap' }, counted(holders.length, 'holder'));
    return h('span', { class: 'id', title: holders[0].Session }, shortId(holders[0].Session));
  }

  function moved(to_) {
    endGraph?.();
    const graph = to_[0] === 'graph';
    listBox.hidden = graph;
    graphBox.hidden = !graph;
    refill(tabs, [['List', 'locks', !graph], ['Wait graph', 'locks/graph', graph]].map(([title, place, on]) =>
      h('button', { type: 'button', 'aria-pressed': on ? 'true' : 'false', onclick: () => { location.hash = `#/${place}`; } }, title)));
    graphBox.replaceChildren();
    endGraph = graph ? showGraph(graphBox) : null;
    detail.choose(graph ? '' : to_.join('/'));
    if (claims) draw();
  }

  begin();
  const endMetrics = onMetrics(() => { if (claims) draw(); }); // which show when keys were locked
  const endAccess = onAccess(() => { if (claims) draw(); });
  moved(rest);
  return {
    moved,
    end() {
      for (const end of ends) end();
      endMetrics();
      endAccess();
      endGraph?.();
      detail.end();
    },
  };
}
