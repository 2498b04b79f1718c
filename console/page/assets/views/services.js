// Services with their checks, nodes with theirs.

import { counted } from '../parts/format.js';
import { empty, h, panel, refill, refusal, table, tag } from '../parts/dom.js';
import { hidden, onAccess, partly } from '../parts/access.js';
import { Detail } from '../parts/detail.js';
import { copyCall } from '../parts/dialog.js';
import { pathOf } from '../parts/calls.js';
import { watch } from '../parts/link.js';
import { to } from '../parts/places.js';

const order = ['critical', 'warning', 'passing'];
const kinds = { critical: 'bad', warning: 'warn', passing: 'good' };
const worst = (checks) => order.find((s) => checks.some((c) => c.Status === s)) || 'passing';
const state = (status) => tag(status, kinds[status] || '');
/** Name, state and output of a check. */
const cells = (c, first = 'td') => [h(first, { scope: first === 'th' ? 'row' : undefined }, c.Name), h('td', {}, state(c.Status)), h('td', { class: 'wrap' }, c.Output)];

export function show(main, rest) {
  const says = h('p', { class: 'says', 'aria-live': 'polite' });
  const filter = h('input', { type: 'search', 'aria-label': 'Filter', placeholder: 'Name or tag …', oninput: () => draw() });
  const list = h('div', {}), nodes = h('div', {});
  const detail = new Detail('Select a service to see its instances.', showService);
  const looked = { path: '/v1/catalog/services' };
  let services = null, checks = null;

  main.append(h('div', { class: 'head' }, h('h1', {}, 'Services and checks'), says), h('div', { class: 'split' }, h('div', { class: 'stack' }, list, nodes), detail.element));
  const ends = [
    watch(looked.path, (a) => { services = a; draw(); }),
    watch('/v1/health/state/any', (a) => { checks = a; draw(); }),
  ];

  function draw() {
    if (!services || !checks) return;
    const problem = [services, checks].find((a) => a.status !== 200);
    if (problem) return refill(list, panel('Services', null, refusal(problem)));
    const text = filter.value.trim().toLowerCase();
    const all = Object.entries(services.body).map(([name, tags]) => ({ name, tags, checks: checks.body.filter((c) => c.ServiceName === name) }))
      .filter((s) => !text || s.name.toLowerCase().includes(text) || s.tags.some((t) => t.toLowerCase().includes(text)))
      .sort((a, b) => order.indexOf(worst(a.checks)) - order.indexOf(worst(b.checks)) || (a.name < b.name ? -1 : 1));
    const ofNodes = checks.body.filter((c) => !c.ServiceID);
    const ill = checks.body.filter((c) => c.Status !== 'passing').length;
    says.textContent = `${counted(all.length, 'service')}, ${counted(checks.body.length, 'check')}${ill ? `, ${ill} not passing` : checks.body.length ? ', all passing' : ''}${partly('service', 'node')}`;
    refill(list, panel('Services', [filter, copyCall('All services', looked, ['catalog', 'services', '-tags'])],
      !all.length ? empty(text ? 'No service matches the filter.' : hidden('services', 'service', 'node') || ['No services yet. Register one with ', h('code', {}, 'belay services register'), '.']) : table('Services', ['Service', 'State', 'Checks #', 'Tags'],
        all.map((s) => h('tr', { 'data-key': s.name, class: s.name === detail.chosen ? 'chosen' : undefined },
          h('th', { scope: 'row' }, h('a', { href: to('services', s.name), 'aria-current': s.name === detail.chosen ? 'true' : undefined }, s.name)),
          h('td', {}, state(worst(s.checks))), h('td', { class: 'number' }, s.checks.length), h('td', { class: 'quiet' }, s.tags.join(', ')))))));
    refill(nodes, panel('Node checks', null, !ofNodes.length ? empty(hidden('checks', 'node') || 'No checks yet. Checks that belong to no service appear here.') : table('Node checks', ['Node', 'Check', 'State', 'Output'],
      ofNodes.map((c) => h('tr', { 'data-key': `${c.Node} ${c.CheckID}` }, h('th', { scope: 'row' }, c.Node), ...cells(c))))));
  }

  function moved(to_) {
    detail.choose(to_.join('/'));
    draw();
  }

  const endAccess = onAccess(draw);
  moved(rest);
  return {
    moved,
    end() {
      for (const end of ends) end();
      endAccess();
      detail.end();
    },
  };
}

/** @returns a function that ends it */
function showService(box, name) {
  const looked = { path: `/v1/health/service/${pathOf(name)}` };
  return watch(looked.path, (answer) => {
    const actions = copyCall(name, looked, ['catalog', 'nodes', `-service=${name}`]);
    if (answer.status !== 200) return refill(box, panel(name, null, refusal(answer)));
    refill(box, panel(name, actions, !answer.body.length ? empty('This service has no instances that your token may read, or its name is wrong.')
      : h('div', { class: 'inside stack' }, answer.body.map(({ Node: node, Service: service, Checks: checks }) =>
        h('section', { 'data-key': `${node.Node} ${service.ID}` },
          h('h3', {}, `${service.ID} on ${node.Node} `, state(worst(checks))),
          h('p', { class: 'quiet' }, `${service.Address || node.Address}${service.Port ? `:${service.Port}` : ''}${service.Tags?.length ? ` · ${service.Tags.join(', ')}` : ''}`),
          table('Checks', ['Check', 'State', 'Output'], checks.map((c) => h('tr', {}, ...cells(c, 'th')))))))));
  });
}
