// User events: the last ones that this server received, and how to fire one.

import { asText, counted, fromBase64, shortId } from '../parts/format.js';
import { button, empty, field, h, panel, refill, refusal, table } from '../parts/dom.js';
import { hidden, partly } from '../parts/access.js';
import { ask, copyCall } from '../parts/dialog.js';
import { operands, pathOf } from '../parts/calls.js';
import { watch } from '../parts/link.js';

export function show(main) {
  const says = h('p', { class: 'says', 'aria-live': 'polite' });
  const list = h('div', {});
  const looked = { path: '/v1/event/list' };
  main.append(h('div', { class: 'head' }, h('h1', {}, 'Events'), says, button('Fire an event', fire, 'main')), list);

  // The index of events is a hash of the newest one and does not grow: a request every two seconds
  // suffices.
  const end = watch(looked.path, (answer) => {
    if (answer.status !== 200) return refill(list, panel('Events', null, refusal(answer)));
    const rows = [...answer.body].reverse();
    says.textContent = counted(rows.length, 'event') + partly('event');
    refill(list, panel('Received by this server', copyCall('Events', looked, null),
      !rows.length ? empty(hidden('events', 'event') || ['No events yet. Fire one here or with ', h('code', {}, 'belay event -name=NAME'), '. Events reach running nodes only and are not stored.'])
        : table('Events, newest first', ['Event', 'Name', 'Payload', 'Sent to'],
          rows.map((e) => h('tr', { 'data-key': e.ID }, h('td', { class: 'mono' }, shortId(e.ID)), h('th', { scope: 'row' }, e.Name),
            h('td', { class: 'mono wrap' }, e.Payload ? asText(fromBase64(e.Payload)) ?? 'binary' : ''),
            h('td', {}, meant(e)))))));
  }, 2000);

  function fire() {
    const input = () => h('input', { type: 'text' });
    const name = input(), payload = input(), node = input(), service = input(), tag = input();
    ask({
      title: 'Fire an event', verb: 'Fire',
      inputs: [field('Name', name), field('Payload', payload), h('fieldset', {}, h('legend', {}, 'Send only to (regular expressions)'),
        h('div', { class: 'stack tight' }, field('Nodes', node), field('Services', service), field('Tags of these services', tag)))],
      check: () => (!name.value ? 'Enter the name of the event.' : tag.value && !service.value ? 'Tags belong to services: enter the services, too.' : ''),
      call: () => ({
        method: 'PUT', path: `/v1/event/fire/${pathOf(name.value)}`, body: payload.value,
        parameters: { node: node.value || undefined, service: service.value || undefined, tag: tag.value || undefined },
      }),
      belay: () => {
        const only = [['node', node], ['service', service], ['tag', tag]].filter(([, input]) => input.value);
        return ['event', `-name=${name.value}`, ...only.map(([option, input]) => `-${option}=${input.value}`), ...(payload.value ? operands(payload.value) : [])];
      },
    });
  }

  return { moved() {}, end };
}

function meant({ NodeFilter: nodes, ServiceFilter: services, TagFilter: tags }) {
  return [nodes && `nodes ${nodes}`, services && `services ${services}`, tags && `tags ${tags}`].filter(Boolean).join(', ') || 'all nodes';
}
