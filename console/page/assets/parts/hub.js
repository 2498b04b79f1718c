// Shared by all tabs of a browser: one stream of changes, and one query at a time for each thing
// that a tab watches. A browser keeps six connections to a server, so tabs with a stream each would
// wait for each other. It runs in a shared worker (worker.js), or without workers in the page.
// Tokens come from the tabs and stay in memory.
//
// A tab sends    { watch: ID, path, token, every? }   watch the response for that path
//                { follow: ID, token, only }          follow changes of keys; `only`: { prefix, kind }
//                { drop: ID }, { drop: 'all' }, { alive: true }
// and receives   { id: ID, answer: { status, body, headers, at } }
//                { id: ID, changes: { list, total, seconds, gap, state, at } }   there were `total` in `seconds`; `gap`: only samples were read
//                { link: { up, since, text } }

import { ask, headersOf, lacksLeader } from './answer.js';
import { Pace, pauseMs } from './pace.js';
import { EventReader } from './sse.js';

// Concurrent long polls, besides one stream and the calls of users: a browser has six connections.
const longPollsMax = 3;
const longPollSeconds = 55;
const withoutLongPollMs = 3000;
const retryMs = [500, 1000, 2000, 4000];
// A tab counts as closed after this silence: it reports every 20 s, in the background at least once
// a minute.
const silentTabMs = 150_000;

const changesTellMs = 250;
// Limit of changes read between two messages to tabs. Above it the stream is ended and samples are
// taken: each change costs the server something, and no one reads a thousand per second.
const changesReadMax = 250;
const sampleEveryMs = 1000;
const sampleWaits = '1s'; // for a change; without one the stream starts again
const sampledAbove = 500; // changes per second
const changesKeptMax = 100; // per message: more cannot be read, and drawing them would occupy a tab

const sleep = (ms, signal) =>
  new Promise((go) => {
    const timer = setTimeout(go, ms);
    signal?.addEventListener('abort', () => { clearTimeout(timer); go(); }, { once: true });
  });

export class Hub {
  #tabs = new Map(); // port -> { heard, ids: Map(ID -> what it takes part in) }
  #watches = new Map();
  #streams = new Map();
  #longPolls = 0;
  #fastestMs = Infinity; // of all responses: the round-trip time
  #link = { up: true, since: Date.now(), text: '' };

  constructor() {
    setInterval(() => this.#forgetSilentTabs(), 30_000);
  }

  connect(port) {
    this.#tabs.set(port, { heard: Date.now(), ids: new Map() });
    port.onmessage = (m) => this.#heard(port, m.data);
    port.postMessage({ link: this.#link });
  }

  #heard(port, said) {
    const tab = this.#tabs.get(port) || { ids: new Map() };
    tab.heard = Date.now();
    this.#tabs.set(port, tab);
    if (said.watch) this.#watch(port, tab, said);
    else if (said.follow) this.#follow(port, tab, said);
    else if (said.drop === 'all') for (const id of [...tab.ids.keys()]) this.#drop(tab, id);
    else if (said.drop) this.#drop(tab, said.drop);
  }

  #drop(tab, id) {
    tab.ids.get(id)?.();
    tab.ids.delete(id);
  }

  #forgetSilentTabs() {
    for (const [port, tab] of this.#tabs) {
      if (Date.now() - tab.heard < silentTabMs) continue;
      for (const id of [...tab.ids.keys()]) this.#drop(tab, id);
      this.#tabs.delete(port);
    }
  }

  #tellLink(up, text = '') {
    if (this.#link.up === up && this.#link.text === text) return;
    this.#link = { up, text, since: this.#link.up === up ? this.#link.since : Date.now() };
    for (const port of this.#tabs.keys()) port.postMessage({ link: this.#link });
  }

  // ---- the response of one path

  #watch(port, tab, { watch: id, path, token, every }) {
    const key = JSON.stringify([path, token, every]);
    let w = this.#watches.get(key);
    if (!w) {
      w = { path, token, every, to: new Map(), end: new AbortController(), last: null };
      this.#watches.set(key, w);
      this.#ask(w);
    }
    const place = Symbol(id);
    w.to.set(place, { port, id });
    if (w.last) port.postMessage({ id, answer: w.last });
    tab.ids.set(id, () => {
      w.to.delete(place);
      if (w.to.size) return;
      w.end.abort();
      this.#watches.delete(key);
    });
  }

  async #ask(w) {
    const { signal } = w.end;
    const pace = new Pace();
    let index = 0, failures = 0;
    while (!signal.aborted) {
      const long = !w.every && index > 0 && !pace.doubtful && this.#longPolls < longPollsMax;
      const began = performance.now();
      try {
        if (long) this.#longPolls += 1;
        index = await this.#askOnce(w, long ? index : 0);
        failures = 0;
      } catch (e) {
        if (signal.aborted) break;
        this.#tellLink(false, String(e.message || e));
        index = 0;
        await sleep(retryMs[Math.min(failures++, retryMs.length - 1)], signal);
        continue;
      } finally {
        if (long) this.#longPolls -= 1;
      }
      if (!long) {
        const took = performance.now() - began;
        this.#fastestMs = Math.min(this.#fastestMs, took);
        pace.took(took - this.#fastestMs);
      }
      const mayWait = index > 0 && this.#longPolls < longPollsMax;
      await sleep(pace.pause(w.every || (mayWait ? pauseMs : withoutLongPollMs)), signal);
    }
  }

  /** @param index 0: answered at once @returns the index to query with next; 0: there is none */
  async #askOnce(w, index) {
    const wait = index > 0 ? `${w.path.includes('?') ? '&' : '?'}index=${index}&wait=${longPollSeconds}s` : '';
    const answer = await ask(w.path + wait, w.token, w.end.signal);
    this.#tellLink(true);
    // Tabs continue to show the last known state; the frame says that there is no leader.
    if (!w.every && w.last?.status === 200 && lacksLeader(answer)) return 0;
    if (w.every || w.last?.text !== answer.text || w.last.status !== answer.status) {
      w.last = answer;
      for (const { port, id } of w.to.values()) port.postMessage({ id, answer });
    }
    const next = Number(answer.headers['x-consul-index']) || 0;
    // An index that goes back belongs to other tables, after a restore: everything is requested
    // afresh.
    return (answer.status === 200 || answer.status === 404) && next >= index ? next : 0;
  }

  // ---- changes of keys

  #follow(port, tab, { follow: id, token, only }) {
    let stream = this.#streams.get(token);
    if (!stream) {
      stream = { token, to: new Map(), end: new AbortController(), state: 'opening', read: 0, since: null, readMs: 0 };
      this.#streams.set(token, stream);
      this.#read(stream);
      stream.timer = setInterval(() => this.#tellChanges(stream), changesTellMs);
    }
    const place = Symbol(id);
    stream.to.set(place, { port, id, only: only || {}, list: [], total: 0, gap: false, state: null });
    tab.ids.set(id, () => {
      stream.to.delete(place);
      if (stream.to.size) return;
      stream.end.abort();
      clearInterval(stream.timer);
      this.#streams.delete(token);
    });
  }

  async #read(stream) {
    const { signal } = stream.end;
    let last, failures = 0;
    while (!signal.aborted) {
      try {
        const headers = { ...headersOf(stream.token), Accept: 'text/event-stream', ...(last ? { 'Last-Event-ID': last } : {}) };
        const response = await fetch('/v1/kv/?recurse&changes&keys', { headers, signal, cache: 'no-store' });
        if (!response.ok) {
          stream.state = `${response.status} ${await response.text()}`;
          await sleep(3000, signal);
          continue;
        }
        failures = 0;
        stream.state = 'open';
        this.#tellLink(true);
        const reader = new EventReader((e) => {
          if (e.id !== undefined) last = e.id;
          if (e.event === 'refused') stream.state = `The server ended it: ${JSON.parse(e.data).Reason || 'no reason given'}.`;
          else if (e.event === 'reset') this.#changed(stream, { Key: '', event: 'reset', id: e.id });
          else if (e.event !== 'progress' && e.event !== 'snapshot' && e.event !== 'cut' && e.id !== undefined) {
            stream.read += 1;
            this.#changed(stream, { ...JSON.parse(e.data), event: e.event, id: e.id });
          }
        });
        const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader();
        stream.since = performance.now();
        let tooMany = false;
        for (let piece = await pieces.read(); !piece.done && !tooMany; piece = await pieces.read()) {
          reader.take(piece.value);
          tooMany = stream.read > changesReadMax;
        }
        stream.readMs += performance.now() - stream.since;
        stream.since = null;
        if (tooMany) {
          await pieces.cancel();
          last = await this.#sample(stream);
          continue;
        }
      } catch (e) {
        if (signal.aborted) break;
        stream.state = 'interrupted';
        this.#tellLink(false, String(e.message || e));
      }
      await sleep(retryMs[Math.min(failures++, retryMs.length - 1)], signal);
    }
  }

  /**
   * With many changes: now and then reads those of the log entry being written, as a sample for all
   * entries since the previous one.
   * @returns the cursor at which the stream resumes; undefined: the server's current one
   */
  async #sample(stream) {
    const { signal } = stream.end;
    let before = null;
    for (;;) {
      for (const one of stream.to.values()) one.gap = true;
      await sleep(sampleEveryMs, signal);
      const { status, body, headers } = await ask(`/v1/kv/?recurse&changes&keys&wait=${sampleWaits}`, stream.token, signal);
      if (status !== 200 || !body.length) return undefined;
      const now = { index: body.at(-1).Index, at: performance.now() };
      const entries = new Set(body.map((c) => c.Index)).size;
      const each = before ? Math.max(1, (now.index - before.index) / entries) : 0; // unknown for the first one
      for (const { ID: id, Event: event, ...change } of body) this.#changed(stream, { ...change, event, id }, each);
      if (before) {
        const ms = now.at - before.at;
        stream.readMs += ms;
        if (body.length * each < sampledAbove * (ms / 1000)) return headers['x-belay-cursor'] || headers['x-consul-index'];
      }
      before = now;
    }
  }

  /** @param each how many changes it counts as */
  #changed(stream, change, each = 1) {
    for (const one of stream.to.values()) {
      if (one.only.kind && one.only.kind !== change.event) continue;
      if (one.only.prefix && !change.Key.startsWith(one.only.prefix)) continue;
      one.total += each;
      if (one.list.length < changesKeptMax) one.list.push(change);
    }
  }

  #tellChanges(stream) {
    const now = performance.now();
    const seconds = (stream.readMs + (stream.since === null ? 0 : now - stream.since)) / 1000;
    Object.assign(stream, { read: 0, readMs: 0, since: stream.since === null ? null : now });
    for (const one of stream.to.values()) {
      if (!one.total && !one.gap && one.state === stream.state) continue;
      one.port.postMessage({ id: one.id, changes: { list: one.list, total: Math.round(one.total), gap: one.gap, seconds, state: stream.state, at: Date.now() } });
      Object.assign(one, { list: [], total: 0, gap: false, state: stream.state });
    }
  }
}
