// A tab's end of what all tabs share (hub.js). What is watched stands still while the tab is hidden, and goes on when it is seen again.

import { token } from './session.js';

let port = null;
let nextId = 1;
const wanted = new Map(); // ID -> { say, take }
const linkListeners = new Set();
let linkNow = { up: true, since: Date.now(), text: '' };

function open() {
  if (typeof SharedWorker === 'function') {
    const url = new URL('worker.js', import.meta.url).href;
    const policy = globalThis.trustedTypes?.createPolicy('belay', { createScriptURL: (of) => of });
    port = new SharedWorker(policy ? policy.createScriptURL(url) : url, { type: 'module', name: url }).port;
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

export async function start() {
  await open();
  document.addEventListener('visibilitychange', () => (seen() ? sayAll() : port.postMessage({ drop: 'all' })));
  addEventListener('pagehide', () => port.postMessage({ drop: 'all' }));
  addEventListener('pageshow', (e) => e.persisted && sayAll());
  setInterval(() => seen() && port.postMessage({ alive: true }), 20_000);
  if (seen()) sayAll();
}

/** Somebody logs in or out: everything is asked for in his name. */
export function askAgain() {
  port.postMessage({ drop: 'all' });
  if (seen()) sayAll();
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
 * Tells what `path` answers whenever that is different: as a blocking query, or `every` so many milliseconds.
 * `take` gets { status, body, headers, at }. @returns what ends it
 */
export const watch = (path, take, every) => want((id) => ({ watch: id, path, every, token: token() }), take);

/** Tells of changes of keys; `take` gets what hub.js says of changes: of many only some, `total` is how many were read, and behind a `gap` there were more. */
export const follow = (only, take) => want((id) => ({ follow: id, only, token: token() }), take);
