// The remaining times of sessions: requested for visible ones every five seconds; in between the
// page's clock runs.

import { bar } from './clock.js';
import { h, refill } from './dom.js';
import { goDuration } from './format.js';
import { watch } from './link.js';
import { pathOf } from './calls.js';

const everyMs = 5000;
const shownMax = 25;

export class SessionTimes {
  #shown = new Map(); // ID -> { element, end }

  /** The element of that session, the same one each time; at most 25 of them. */
  of(id) {
    if (!this.#shown.has(id)) {
      if (this.#shown.size >= shownMax) return h('span', { class: 'quiet' }, '–');
      const element = h('span', {});
      const end = watch(`/v1/session/info/${pathOf(id)}`, (answer) => this.#tell(element, id, answer), everyMs);
      this.#shown.set(id, { element, end });
    }
    return this.#shown.get(id).element;
  }

  #tell(element, id, { status, body, headers, at }) {
    const session = status === 200 ? body[0] : undefined;
    const left = Number(headers['x-belay-session-ttl-ms']);
    const ttl = session && goDuration(session.TTL);
    const age = performance.now() - (Date.now() - at);
    if (status !== 200) refill(element, h('span', { class: 'quiet' }, status === 403 ? 'not permitted' : '–'));
    else if (!session) refill(element, h('span', { class: 'quiet' }, 'ended'));
    else if (!ttl) refill(element, h('span', { class: 'quiet' }, 'no TTL'));
    else if (!left) refill(element, h('span', { class: 'quiet', title: 'Only the leader knows the time left: open the console there' }, 'on the leader only'));
    else refill(element, bar(left, session.TTLMode === 'exact' ? ttl : 2 * ttl, age, `Time left of session ${id}`));
  }

  /** Ends the requests for all others. */
  keep(ids) {
    for (const [id, { end }] of this.#shown)
      if (!ids.includes(id)) { end(); this.#shown.delete(id); }
  }
}
