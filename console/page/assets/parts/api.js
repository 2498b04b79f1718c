// Calls that users make: reads of one thing, and changes.

import { headersOf } from './answer.js';
import { target } from './calls.js';
import { token } from './session.js';

class Refused extends Error {
  constructor(status, text, headers) {
    super(text || `answered with status ${status}`);
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
  const sent = body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  const response = await fetch(target(path, parameters), {
    method,
    body: sent,
    headers: { ...headersOf(token()), ...headers },
    cache: 'no-store',
  });
  const text = await response.text();
  if (!response.ok) throw new Refused(response.status, text, response.headers);
  let parsed = text;
  if ((response.headers.get('Content-Type') || '').includes('json')) parsed = JSON.parse(text);
  return { status: response.status, body: parsed, headers: response.headers };
}

/** The text for a response that is no success, or for a missing one. */
export function complaint(answer) {
  if (!answer.status) return 'The server did not answer.';
  if (answer.status === 403) return 'Your token does not permit this. Log in with another one under Tokens.';
  if (answer.status === 401) return String(answer.body || answer.text);
  return `${answer.status} ${answer.body || answer.text || answer.message || ''}`.trim();
}
