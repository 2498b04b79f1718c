// Sessions: their remaining times, what they hold and wait for, and why ended ones ended.

import { count, counted, duration, goDuration, shortId } from '../parts/format.js';
import { button, empty, facts, h, panel, refill, refusal, table, tag } from '../parts/dom.js';
import { hidden, onAccess, partly } from '../parts/access.js';
import { complaint } from '../parts/api.js';
import { Detail } from '../parts/detail.js';
import { ask, copyCall } from '../parts/dialog.js';
import { pathOf, target } from '../parts/calls.js';
import { since } from '../parts/clock.js';
import { SessionTimes } from '../parts/session_times.js';
import { watch } from '../parts/link.js';
import { watchLockedKeys } from '../parts/locked_keys.js';
import { to } from '../parts/places.js';

const rowsMax = 200;
const endedKept = 20;

export function show(main, rest) {
  const says = h('p', { class: 'says', 'aria-live': 'polite' });
  const filter = h('input', { type: 'search', 'aria-label': 'Filter', placeholder: 'ID, name or node …', oninput: () => draw() });
  const list = h('div', {}), ended = h('div', {});
  const detail = new Detail('Select a session to see what it holds and waits for.', showSession);
  const times = new SessionTimes();
  const looked = { path: '/v1/session/list' };
  let answer = null, known = new Map(), gone = [];

  main.append(h('div', { class: 'head' }, h('h1', {}, 'Sessions'), says), h('div', { class: 'split' }, h('div', { class: 'stack' }, list, ended), detail.element));

  const end = watch(looked.path, (a) => {
    answer = a;
    if (a.status === 200) {
      const now = new Map(a.body.map((s) => [s.ID, s]));
      for (const [id, s] of known) if (!now.has(id)) gone = [{ id, name: s.Name }, ...gone].slice(0, endedKept);
      known = now;
    }
    draw();
    drawEnded();
  });

  function draw() {
    if (!answer) return;
    if (answer.status !== 200) return refill(list, panel('Sessions', null, refusal(answer)));
    const text = filter.value.trim().toLowerCase();
    const all = answer.body.filter((s) => !text || [s.ID, s.Name, s.Node].some((x) => x.toLowerCase().includes(text)));
    says.textContent = counted(answer.body.length, 'session') + partly('session');
    times.keep(all.slice(0, rowsMax).map((s) => s.ID));
    refill(list, panel('Active', [filter, copyCall('All sessions', looked, ['session', 'list'])],
      !all.length ? empty(text ? 'No session matches the filter.' : hidden('sessions', 'session') || ['No sessions. Clients create them, for example ', h('code', {}, 'belay lock NAME COMMAND'), '.'])
        : [table('Sessions', ['Session', 'Name', 'Node', 'Time left'],
          all.slice(0, rowsMax).map((s) => h('tr', { 'data-key': s.ID, class: s.ID === detail.chosen ? 'chosen' : undefined },
            h('th', { scope: 'row' }, h('a', { class: 'id', href: to('sessions', s.ID), title: s.ID, 'aria-current': s.ID === detail.chosen ? 'true' : undefined }, shortId(s.ID))),
            h('td', { class: 'wrap' }, s.Name || h('span', { class: 'quiet' }, 'unnamed')), h('td', {}, s.Node), h('td', {}, times.of(s.ID))))),
        all.length > rowsMax && empty(`The first ${count(rowsMax)} of ${counted(all.length, 'session')} are shown: enter a filter to find others.`)]));
  }

  function drawEnded() {
    refill(ended, panel('Recently ended', null, !gone.length ? empty('Sessions that end while this page is open appear here.')
      : table('Ended sessions', ['Session', 'Name'],
        gone.map((s) => h('tr', {}, h('th', { scope: 'row' }, h('a', { class: 'id', href: to('sessions', s.id) }, shortId(s.id))), h('td', {}, s.name || h('span', { class: 'quiet' }, 'unnamed')))))));
  }

  function moved(to_) {
    detail.choose(to_.join('/'));
    draw();
  }

  const endAccess = onAccess(draw);
  drawEnded();
  moved(rest);
  return {
    moved,
    end() {
      end();
      endAccess();
      detail.end();
      times.keep([]);
    },
  };
}

/** @returns a function that ends it */
function showSession(box, id) {
  const times = new SessionTimes();
  const looked = { path: `/v1/session/info/${pathOf(id)}` };
  const why = { path: `/v1/session/ended/${pathOf(id)}` };
  const claimsOf = { path: '/v1/claims', parameters: { session: id } };
  const top = h('div', {}), holds = h('div', {});
  box.append(h('div', { class: 'stack' }, top, holds));
  let claims = null, locks = null, endWhy = null, endLocks = () => {};

  const ends = [
    watch(looked.path, (answer) => {
      if (answer.status !== 200) return refill(top, panel(id, null, refusal(answer)));
      if (!answer.body.length) {
        endWhy ??= watch(why.path, drawEnd);
        return;
      }
      drawTop(answer.body[0]);
    }),
    watch(target(claimsOf.path, claimsOf.parameters), (answer) => { claims = answer; drawHolds(); }),
    () => endLocks(),
  ];

  function lookForLocks(always) {
    endLocks();
    endLocks = watchLockedKeys({ session: id, always }, (answer) => { locks = answer; drawHolds(); });
  }
  lookForLocks(false);

  function drawTop(s) {
    const ttl = goDuration(s.TTL || '0s');
    refill(top, panel(s.Name || shortId(s.ID),
      [copyCall(`Session ${s.ID}`, looked, ['session', 'info', s.ID]),
        button('End session', () => destroy(s), 'danger')],
      h('div', { class: 'inside' }, facts(
        ['ID', h('span', { class: 'mono' }, s.ID), true], ['Node', s.Node], ['Time left', times.of(s.ID)],
        ['TTL', ttl ? `${duration(ttl)} (expires after ${s.TTLMode === 'exact' ? 'exactly' : '1 to 2 times'} that)` : 'none'],
        ['When it ends, its locks are', s.Behavior === 'delete' ? 'released, and the locked keys deleted' : 'released'], ['Lock delay', duration(s.LockDelay / 1e6)],
        ['Checks', [...(s.NodeChecks || []), ...(s.ServiceChecks || []).map((c) => c.ID)].join(', ') || 'none'],
        ['Operations when it ends', s.OnEndCount], ['Created at index', s.CreateIndex]))));
  }

  function drawEnd(answer) {
    const e = answer.status === 200 ? answer.body : null;
    refill(top, panel(e?.Name || shortId(id), [tag('ended', 'warn'), copyCall(`Why ${id} ended`, why, ['session', 'explain', id])],
      !e ? empty(answer.status === 404 ? hidden('session of this ID', 'session') || 'No such session. Only the last 10,000 ended sessions are remembered, since claims were first used.' : complaint(answer))
        : h('div', { class: 'inside' }, facts(['ID', h('span', { class: 'mono' }, id), true], ['Cause', e.Cause === 'ttl' ? 'not renewed within its TTL' : e.Cause],
          ['Ended', [since(e.EndedMsAgo, performance.now() - (Date.now() - answer.at)), ' ago']], ['Node', e.Node], ['At index', e.Index],
          ['Released', e.ReleasedCount ? (e.Released || []).map((r) => r.Claim ?? r.Lock).join(', ') || `${counted(e.ReleasedCount, 'lock')}; your token does not permit the names` : 'nothing'],
          e.OnEndDone + e.OnEndRefused > 0 && ['Operations when it ends', `${e.OnEndDone} done, ${e.OnEndRefused} rejected`]))));
  }

  function drawHolds() {
    const rows = [
      ...(claims?.status === 200 ? claims.body.map((c) => ({ space: c.Claim !== undefined ? 'claim' : 'key', name: c.Claim ?? c.Lock, waits: c.State === 'waiting' })) : []),
      ...(locks?.status === 200 ? locks.body.map((k) => ({ space: 'key', name: k.Key, waits: false })) : []),
    ];
    const problem = [claims, locks].find((a) => a?.status && a.status !== 200 && a.status !== 404);
    refill(holds, panel('Holds and waits for', null, problem ? refusal(problem) : !claims || !locks ? empty('Loading …') : !rows.length ? empty(hidden('locks', 'key') || 'This session holds no lock and waits for none.')
      : table('What the session holds and waits for', ['Name', 'Type', 'State'],
        rows.map((r) => h('tr', { 'data-key': `${r.space}/${r.name}` }, h('th', { scope: 'row' }, h('a', { href: to('locks', r.space, r.name) }, r.name)),
          h('td', {}, r.space === 'key' ? 'lock of a key' : r.space), h('td', {}, r.waits ? tag('waiting', 'warn') : tag('holder', 'good'))))),
    locks?.skipped && h('p', { class: 'empty' }, `Locks of keys are not listed: to find them, the server scans all ${count(locks.skipped)} keys. `, button('Scan all keys', () => lookForLocks(true)))));
  }

  const destroy = (s) => ask({
    title: `End session ${shortId(s.ID)}`, verb: 'End session', danger: true,
    explain: h('p', {}, s.Behavior === 'delete' ? 'Its locks are released, and the keys that it has locked are deleted.' : 'Its locks are released.', s.LockDelay > 0 && ` No session can acquire them for ${duration(s.LockDelay / 1e6)} (lock delay).`, ' The client is not notified.'),
    call: () => ({ method: 'PUT', path: `/v1/session/destroy/${pathOf(s.ID)}` }),
    belay: () => ['session', 'destroy', s.ID],
  });

  return () => {
    for (const end of ends) end();
    endWhy?.();
    times.keep([]);
  };
}
