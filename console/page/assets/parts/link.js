// A tab's end of what all tabs share (hub.js). What is watched stands still while the tab is hidden, and goes on when it is seen again.

import { ask } from './answer.js';
import { token } from './session.js';

// A shared worker takes longer to start than everything else of the first view takes, and takes a processor from it: it begins so long after the first
// picture. Until then a tab asks for itself, once for each thing.
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

/** Somebody logs in or out: everything is asked for in his name. */
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
 * Tells what `path` answers whenever that is different: as a blocking query, or `every` so many milliseconds.
 * `take` gets { status, body, headers, at }. @returns what ends it
 */
export function watch(path, take, every) {
  let told = false;
  const end = want((id) => ({ watch: id, path, every, token: token() }), (answer) => { told = true; take(answer); });
  if (port || !seen()) return end;
  const first = new AbortController();
  // That a server does not answer is told by the worker.
  ask(path, token(), first.signal).then((answer) => { if (!told && !first.signal.aborted) take(answer); }, () => {});
  return () => { first.abort(); end(); };
}

/** Tells of changes of keys; `take` gets what hub.js says of changes: of many only some, `total` is how many were read, and behind a `gap` there were more. */
export const follow = (only, take) => want((id) => ({ follow: id, only, token: token() }), take);
