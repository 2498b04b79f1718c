// What the token of this tab may read: lists leave out the rest, so views must not say that there is
// nothing.

import { call } from './api.js';
import { token } from './session.js';

const resources = ['key', 'session', 'service', 'node', 'event'];

/**
 * `login`: 'unknown'; 'off' with ACLs off; 'none' without a token; 'invalid' with one that the server
 * does not know; 'valid'. `limited`: resources of which some may be hidden.
 */
export let access = { login: 'unknown', name: '', limited: new Set() };

const listeners = new Set();
let requests = 0;

/** @returns a function that ends it */
export function onAccess(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Requests it again, after a login, or because tokens expire. Without a response everything stays as it was. */
export async function refreshAccess() {
  const mine = ++requests;
  let next;
  try {
    next = await read();
  } catch {
    return;
  }
  if (mine !== requests) return; // another login followed
  access = next;
  for (const listener of listeners) listener();
}

async function read() {
  let name = '', login = 'valid';
  try {
    const { body } = await call({ path: '/v1/acl/token/self' });
    name = body.Description || body.AccessorID;
  } catch (refused) {
    if (refused.status === 401) return { login: 'off', name, limited: new Set() };
    if (refused.status !== 403) throw refused;
    if (token()) return { login: 'invalid', name, limited: new Set() };
  }
  if (!token()) login = 'none';
  const asked = resources.map((Resource) => ({ Resource, Segment: '', Access: 'read' }));
  const { body } = await call({ method: 'POST', path: '/v1/internal/acl/authorize', body: asked });
  return { login, name, limited: new Set(body.filter((a) => !a.Allow).map((a) => a.Resource)) };
}

const isLimited = (of) => of.some((resource) => access.limited.has(resource));

/** To be added to a count: empty if everything of these resources is shown. */
export const partly = (...of) => (isLimited(of) ? ` (only those that ${holder()} may read)` : '');

/** The text of an empty list that may have hidden rows; empty if it has none. @param what 'sessions' */
export const hidden = (what, ...of) =>
  (isLimited(of) ? `No ${what} that ${holder()} may read. To see others, log in ${access.login === 'none' ? '' : 'with another token '}under Tokens.` : '');

const holder = () => (access.login === 'none' ? 'the anonymous token' : 'your token');
