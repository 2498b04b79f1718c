// Changes of keys as they happen. If there are too many to read, some are shown, and the page says
// so.

import { count, figure } from '../parts/format.js';
import { button, empty, h, panel, refill, table, tag } from '../parts/dom.js';
import { onAccess, partly } from '../parts/access.js';
import { streamProblem } from '../parts/api.js';
import { copyCall } from '../parts/dialog.js';
import { pathOf } from '../parts/calls.js';
import { follow } from '../parts/link.js';
import { to } from '../parts/places.js';

const rowsMax = 200;
const rateOverMs = 3000;

export function show(main) {
  const says = h('p', { class: 'says', role: 'status' });
  const prefix = h('input', { type: 'search', 'aria-label': 'Key prefix', placeholder: 'Key prefix …', onchange: () => begin() });
  const kind = h('select', { 'aria-label': 'Type of change', onchange: () => begin() }, ['', 'set', 'delete', 'expired'].map((value) => h('option', { value }, value || 'all types')));
  const pause = h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => { paused = !paused; pause.setAttribute('aria-pressed', String(paused)); draw(); } }, 'Pause');
  const list = h('div', {});
  const call = () => ({
    path: `/v1/kv/${pathOf(prefix.value)}`, parameters: { recurse: true, changes: true, event: kind.value || undefined },
    headers: { Accept: 'text/event-stream' }, follows: true,
  });
  const box = panel('Live', [prefix, kind, pause, button('Clear', () => { rows = []; missed = 0; sampled = false; draw(); }),
    copyCall('Change feed', call, null)], list);
  let rows = [], missed = 0, paused = false, heldBack = 0, sampled = false, told = [], state = 'opening', end = () => {};

  main.append(h('div', { class: 'head' }, h('h1', {}, 'Changes'), says), box);

  function begin() {
    end();
    rows = [];
    missed = 0;
    sampled = false;
    end = follow({ prefix: prefix.value || undefined, kind: kind.value || undefined }, (news) => {
      state = news.state;
      told.push({ at: performance.now(), total: news.total, seconds: news.seconds, gap: news.gap });
      sampled ||= news.gap;
      if (paused) heldBack += news.total;
      else {
        missed += news.total - news.list.length;
        const time = new Date(news.at).toLocaleTimeString('en-GB');
        rows = [...news.list.reverse().map((c) => ({ ...c, time })), ...rows].slice(0, rowsMax);
      }
      draw();
    });
    draw();
  }

  function draw() {
    if (!paused) heldBack = 0;
    const now = performance.now();
    told = told.filter((t) => t.at > now - rateOverMs);
    const gap = told.some((t) => t.gap);
    const seconds = gap ? told.reduce((n, t) => n + t.seconds, 0) : rateOverMs / 1000;
    const rate = told.reduce((n, t) => n + t.total, 0) / seconds;
    const shownRate = figure(rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate));
    const notShown = paused ? `, paused: ${count(heldBack)} not shown` : sampled ? '. Sampled: too many to show all' : missed ? `. Sampled: too many to show all, ${count(missed)} left out` : '';
    says.textContent = state === 'open' || state === 'opening' ? `${gap ? 'about ' : ''}${shownRate} changes per second${partly('key')}${notShown}` : `Change feed stopped. ${streamProblem(state)}`;
    if (paused && rows.length && list.hasChildNodes()) return;
    refill(list, !rows.length ? empty(state === 'open' ? ['No changes since this page was opened. Write a key, for example with ', h('code', {}, 'belay kv put KEY VALUE'), ', and it appears here.'] : state === 'opening' ? 'Connecting …' : 'Changes appear here when the change feed is back.')
      : table('Changes, newest first', ['Time', 'Index #', 'Change', 'Key', 'Previous index #'],
        rows.map((c) => h('tr', { 'data-key': c.id },
          h('td', { class: 'tight quiet' }, c.time), h('td', { class: 'number' }, c.Index ?? ''), h('td', {}, tag(c.event, { delete: 'warn', expired: 'bad' }[c.event] || '')),
          h('th', { scope: 'row', class: 'mono' }, c.event === 'reset' ? 'all keys: a snapshot was restored, or permissions have changed' : h('a', { href: to('keys', c.Key) }, c.Key)),
          h('td', { class: 'number quiet' }, c.PreviousIndex || 'new')))));
  }

  const endAccess = onAccess(draw);
  begin();
  const timer = setInterval(draw, 1000);
  return {
    moved() {},
    end() {
      clearInterval(timer);
      endAccess();
      end();
    },
  };
}
