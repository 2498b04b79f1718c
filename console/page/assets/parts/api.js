// Calls that users make: reads of one thing, and changes.

import { headersOf, lacksLeader, parseJson } from './answer.js';
import { target, toJson } from './calls.js';
import { token } from './session.js';

class Refused extends Error {
  constructor(status, text, headers) {
    super(text || `Status ${status}`);
    this.status = status;
    this.headers = headers;
  }
}

/**
 * @param call { method, path, parameters, body, headers }, as for calls.js
 * @returns { status, body, headers }; the body parsed if it is JSON
 * @throws Refused for any status of 400 and above; TypeError without a response
 */
export async function call({ method = 'GET', path, parameters, body, headers = {} }) {
  const sent = body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : toJson(body);
  const response = await fetch(target(path, parameters), {
    method,
    body: sent,
    headers: { ...headersOf(token()), ...headers },
    cache: 'no-store',
  });
  const text = await response.text();
  if (!response.ok) throw new Refused(response.status, text, response.headers);
  let parsed = text;
  if ((response.headers.get('Content-Type') || '').includes('json')) parsed = parseJson(text);
  return { status: response.status, body: parsed, headers: response.headers };
}

/** The text for a response that is no success, or for a missing one. */
export function complaint(answer) {
  const text = String(answer.body || answer.text || answer.message || '').trim();
  if (!answer.status) return 'No response from the server. Check that it runs, then try again.';
  if (answer.status === 403 && !token()) return 'This is not permitted without a token. Log in under Tokens.';
  if (answer.status === 403 && text.startsWith('ACL not found')) return 'The server does not know this token: it was deleted, has expired or was mistyped. Log in with another one under Tokens.';
  if (answer.status === 403) return 'Your token does not permit this. Log in with another one under Tokens.';
  if (answer.status === 401) return text;
  if (lacksLeader(answer)) return 'The cluster has no leader: this is not available until one is elected.';
  return `${answer.status} ${text}`.trim();
}

/** The same for the state of a change feed that has ended (hub.js). */
export function streamProblem(state) {
  const [, status, text] = /^(\d{3}) (.*)$/s.exec(state) || [];
  if (status) return complaint({ status: Number(status), text });
  return state === 'interrupted' ? 'The connection was lost; the page connects again.' : state;
}
