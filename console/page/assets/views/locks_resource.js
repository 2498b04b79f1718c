// One lock, claim, semaphore or election: holders, queue, delays, and actions.

import { asText, count, counted, fromBase64, shortId } from '../parts/format.js';
import { button, empty, facts, field, h, panel, refill, refusal, table, tag } from '../parts/dom.js';
import { since, until } from '../parts/clock.js';
import { ask, copyCall, prepare } from '../parts/dialog.js';
import { call } from '../parts/api.js';
import { pathOf, target } from '../parts/calls.js';
import { heldFor } from '../parts/held_for.js';
import { SessionTimes } from '../parts/session_times.js';
import { watch } from '../parts/link.js';
import { to } from '../parts/places.js';

const queueShown = 100;

const sessionLink = (id) => h('a', { class: 'id', href: to('sessions', id), title: id }, shortId(id));

/** @param space 'claim' or 'key' @returns a function that ends it */
export function showResource(box, space, name) {
  const times = new SessionTimes();
  const looked = space === 'claim' ? { path: `/v1/claim/${pathOf(name)}` } : { path: `/v1/kv/${pathOf(name)}`, parameters: { claims: true } };
  let whole = false, last = null;

  const end = watch(target(looked.path, looked.parameters), (answer) => { last = answer; draw(); });

  function draw() {
    if (last.status === 404) return refill(box, panel(name, null, empty(`No session holds or waits for ${space === 'claim' ? 'this claim' : 'the lock of this key'}. Holders and waiters appear here.`)));
    if (last.status !== 200) return refill(box, panel(name, null, refusal(last)));
    const r = last.body;
    const at = performance.now() - (Date.now() - last.at);
    const kind = space === 'key' ? 'lock of a key' : { rw: 'read-write lock' }[r.Kind] || r.Kind;
    times.keep(r.Holders.map((x) => x.Session));
    refill(box, panel(name,
      [tag(kind), r.Kind === 'semaphore' && button('Resize', () => resize(r)),
        copyCall(name, looked, null)],
      h('div', { class: 'inside stack' },
        facts(r.Kind === 'semaphore' && ['Permits', `${r.Holders.reduce((n, x) => n + x.Permits, 0)} of ${r.Limit} taken`],
          r.Kind === 'semaphore' && ['Limit', r.LimitFixed ? 'set by an operator' : 'set by the first claim'],
          ['Holders', count(r.HolderCount)], ['Waiting', count(r.QueueLength)],
          space === 'key' && ['Key', h('a', { href: to('keys', name) }, name)]),
        holders(r, at), queue(r, at), delays(r, at))));
  }

  function holders(r, at) {
    if (!r.Holders.length) return h('p', { class: 'quiet' }, 'No holder.');
    return h('section', {}, h('h3', {}, 'Holders'), table('Holders',
      ['Session', 'Held for', 'Fencing token #', 'Session expires in', '(Actions)'],
      r.Holders.flatMap((x) => [
        h('tr', { 'data-key': x.ID },
          h('th', { scope: 'row' }, sessionLink(x.Session), h('span', { class: 'quiet small' }, ` ${x.Node}`), x.ID !== x.Session && h('div', { class: 'quiet small' }, x.ID),
            (r.Kind === 'rw' || x.Permits > 1) && h('div', { class: 'quiet small' }, r.Kind === 'rw' ? x.Mode : counted(x.Permits, 'permit')), value(x.Value)),
          h('td', {}, x.HeldMs === undefined ? heldFor(x.Fence) : since(x.HeldMs, at)),
          h('td', { class: 'number' }, x.Fence), h('td', {}, times.of(x.Session)),
          h('td', {}, h('div', { class: 'row end' },
            space === 'claim' && (r.Kind === 'lock' || r.Kind === 'election') && r.QueueLength > 0 && button('Transfer', () => transfer(x, r.Queue[0])),
            r.Kind === 'rw' && x.Mode === 'exclusive' && button('Make shared', () => share(x)),
            button('Release', () => (space === 'claim' ? letGo(x) : prepare(`Release the lock of ${name}`, () => unlock(x))), 'danger')))),
      ])));
  }

  function queue(r, at) {
    if (!r.QueueLength) return h('p', { class: 'quiet' }, 'No waiters.');
    const mayTake = space === 'claim' && (r.Kind === 'lock' || r.Kind === 'election') && r.Holders.length === 1;
    const ranked = r.Queue.some((x) => x.Priority);
    const shown = whole ? r.Queue : r.Queue.slice(0, queueShown);
    return h('section', {}, h('h3', {}, 'Queue'), table('Queue',
      ['Position #', 'Session', 'Waiting for', 'Times out in', ...(ranked ? ['Priority #'] : []), '(Actions)'],
      shown.map((x) => h('tr', { 'data-key': `wait ${x.ID}` },
        h('td', { class: 'number' }, x.Position),
        h('th', { scope: 'row' }, sessionLink(x.Session), h('span', { class: 'quiet small' }, ` ${x.Node}`), x.ID !== x.Session && h('div', { class: 'quiet small' }, x.ID)),
        h('td', {}, since(x.WaitingMs, at)), h('td', {}, x.DeadlineMs === undefined ? h('span', { class: 'quiet' }, 'never') : until(x.DeadlineMs, at)),
        ranked && h('td', { class: 'number' }, x.Priority),
        h('td', {}, h('div', { class: 'row end' },
          mayTake && button('Transfer', () => transfer(r.Holders[0], x)),
          button('Remove', () => (space === 'claim' ? withdraw(x) : leaveQueue(x)), 'danger')))))),
    r.Queue.length > shown.length && button(`Show ${count(r.Queue.length - shown.length)} more`, () => { whole = true; draw(); }, 'plain'),
    r.QueueLength > r.Queue.length && h('p', { class: 'quiet' }, `The first ${count(r.Queue.length)} of ${count(r.QueueLength)} waiters are listed.`));
  }

  function delays(r, at) {
    if (!r.Delays.length) return null;
    return h('section', {}, h('h3', {}, 'Lock delay'), h('p', { class: 'quiet' }, 'The session of a holder ended without a release. No session can acquire its hold until the lock delay is over, so that the old holder has time to stop.'),
      table('Lock delays', ['Session', 'Ends in', 'Permits #'],
        r.Delays.map((d) => h('tr', {}, h('th', { scope: 'row', class: 'mono' }, shortId(d.Session) || 'unknown'), h('td', {}, until(d.RemainingMs, at)), h('td', { class: 'number' }, d.Permits ?? 1)))));
  }

  function value(base64) {
    if (!base64) return null;
    const text = asText(fromBase64(base64));
    return h('div', { class: 'quiet small wrap' }, text === null ? 'binary value' : text.length > 80 ? `${text.slice(0, 80)} …` : text);
  }

  // ---- actions

  const path = `/v1/claim/${pathOf(name)}`;
  const letGo = (x) => ask({
    title: `Release ${name}`, verb: 'Release', danger: true,
    explain: h('p', {}, `Session ${x.Session} loses it now, and the next waiter gets it. The holder is not notified: it continues until its next request, or until a write with fencing token ${x.Fence} is rejected.`),
    call: () => ({ method: 'DELETE', path, parameters: { id: x.ID } }),
  });
  const withdraw = (x) => ask({
    title: `Remove a waiter from ${name}`, verb: 'Remove', danger: true,
    explain: h('p', {}, `Session ${x.Session} loses position ${x.Position} in the queue, and its request returns without the lock.`),
    call: () => ({ method: 'DELETE', path, parameters: { id: x.ID } }),
  });
  const transfer = (from, x) => ask({
    title: `Transfer ${name}`, verb: 'Transfer', danger: true,
    explain: h('p', {}, `Session ${from.Session} loses it, and session ${x.Session} holds it from then on, with a new fencing token.`),
    call: () => ({ method: 'PUT', path: `${path}/transfer`, parameters: { id: from.ID, to: x.ID } }),
  });
  const share = (x) => ask({
    title: `Make ${name} shared`, verb: 'Make shared',
    explain: h('p', {}, 'The holder keeps the lock and its fencing token. Sessions that wait for shared mode can then hold it, too.'),
    call: () => ({ method: 'PUT', path: `${path}/mode`, parameters: { id: x.ID, mode: 'shared' } }),
  });

  function resize(r) {
    const limit = h('input', { type: 'number', min: 1, value: r.Limit });
    const unpin = h('input', { type: 'checkbox' });
    ask({
      title: `Resize ${name}`, verb: 'Set',
      explain: h('p', {}, 'If the new limit is below the permits in use, holders keep theirs, and none is granted until enough are returned.'),
      inputs: [field('Permits', limit), r.LimitFixed && h('label', { class: 'choice' }, unpin, 'Remove this limit: the next claim sets it')],
      check: () => (unpin.checked || Number(limit.value) >= 1 ? '' : 'Enter a limit of at least 1.'),
      call: () => (unpin.checked ? { method: 'DELETE', path: `${path}/limit` } : { method: 'PUT', path: `${path}/limit`, parameters: { n: limit.value } }),
    });
  }

  async function unlock(x) {
    const { body: [key] } = await call({ path: `/v1/kv/${pathOf(name)}` });
    // A release writes the value that comes with it: the current one, if it has not changed.
    const operation = { Key: key.Key, Value: key.Value, Flags: key.Flags, Session: x.Session };
    ask({
      title: `Release the lock of ${name}`, verb: 'Release', danger: true,
      explain: h('p', {}, `Session ${x.Session} loses the lock now; the value stays. The holder is not notified: it continues until its next request, or until a write with fencing token ${x.Fence} is rejected.`),
      call: () => ({ method: 'PUT', path: '/v1/txn', body: [{ KV: { Verb: 'check-index', Key: key.Key, Index: key.ModifyIndex } }, { KV: { Verb: 'unlock', ...operation } }] }),
    });
  }
  const leaveQueue = (x) => ask({
    title: `Remove a waiter from ${name}`, verb: 'Remove', danger: true, falseIsDone: true,
    explain: h('p', {}, `Session ${x.Session} loses position ${x.Position} in the queue, and its request returns without the lock.`),
    call: () => ({ method: 'PUT', path: `/v1/kv/${pathOf(name)}`, parameters: { release: x.Session } }),
  });

  return () => {
    end();
    times.keep([]);
  };
}
