// A tab's end of the hub (hub.js). Watches pause while the tab is hidden, and resume when it is
// shown again.

import { ask } from './answer.js';
import { token } from './session.js';

// A shared worker takes longer to start than all else in the first view, and occupies a processor.
// So it starts this long after the first paint. Until then a tab requests everything itself, once.
const workerWaitsMs = 30;

let port = null;
let nextId = 1;
const wanted = new Map(); // ID -> { say, take }
const linkListeners = new Set();
let linkNow = { up: true, since: Date.now(), text: '' };

function open(workerUrl) {
  if (typeof SharedWorker === 'function') {
    const policy = globalThis.trustedTypes?.createPolicy('belay', { createScriptURL: (of) => of });
    port = new SharedWorker(policy ? policy.createScriptURL(workerUrl) : workerUrl, { type: 'module', name: workerUrl }).port;
    port.onmessage = (m) => heard(m.data);
    port.start();
    return Promise.resolve();
  }
  return import('./hub.js').then(({ Hub }) => {
    const channel = new MessageChannel();
    new Hub().connect(channel.port1);
    port = channel.port2;
    port.onmessage = (m) => heard(m.data);
  });
}

function heard(said) {
  if (said.link) {
    linkNow = said.link;
    for (const listener of linkListeners) listener(linkNow);
  } else {
    wanted.get(said.id)?.take(said.answer || said.changes);
  }
}

const seen = () => document.visibilityState !== 'hidden';
const sayAll = () => { for (const { say } of wanted.values()) port.postMessage(say()); };

/** @param workerUrl of the shared worker */
export async function start(workerUrl) {
  await new Promise((go) => { requestAnimationFrame(() => setTimeout(go, workerWaitsMs)); });
  await open(workerUrl);
  document.addEventListener('visibilitychange', () => (seen() ? sayAll() : port.postMessage({ drop: 'all' })));
  addEventListener('pagehide', () => port.postMessage({ drop: 'all' }));
  addEventListener('pageshow', (e) => e.persisted && sayAll());
  setInterval(() => seen() && port.postMessage({ alive: true }), 20_000);
  if (seen()) sayAll();
}

/** After a login or logout: requests everything with the new token. */
export function askAgain() {
  port?.postMessage({ drop: 'all' });
  if (port && seen()) sayAll();
}

export function onLink(listener) {
  linkListeners.add(listener);
  listener(linkNow);
}

function want(say, take) {
  const id = `${nextId++}`;
  wanted.set(id, { say: () => say(id), take });
  if (port && seen()) port.postMessage(say(id));
  return () => {
    wanted.delete(id);
    port?.postMessage({ drop: id });
  };
}

/**
 * Watches the response for `path`: by a blocking query, or every `every` milliseconds. `take` gets
 * { status, body, headers, at }. @returns a function that ends it
 */
export function watch(path, take, every) {
  let told = false;
  const end = want((id) => ({ watch: id, path, every, token: token() }), (answer) => { told = true; take(answer); });
  if (port || !seen()) return end;
  const first = new AbortController();
  // The worker reports a server that does not respond.
  ask(path, token(), first.signal).then((answer) => { if (!told && !first.signal.aborted) take(answer); }, () => {});
  return () => { first.abort(); end(); };
}

/** Follows changes of keys; `take` gets the `changes` of hub.js: of many only some, `total` is how many were read, and in a `gap` there were more. */
export const follow = (only, take) => want((id) => ({ follow: id, only, token: token() }), take);
