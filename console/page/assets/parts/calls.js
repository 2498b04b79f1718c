// A call of the API, in the form of the console, and for use elsewhere: with curl, or with the
// program `belay`. Nothing here uses the page: tests/console/parts_test.py runs it.

import { toBase64, unseen, visible } from './format.js';

/**
 * A word of a shell, quoted if needed. A control character in a name would act as a key of the
 * terminal, also within quotes: such words are written as bash and zsh understand them.
 */
export function shellWord(text) {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text)) return text;
  if (!unseen(text)) return `'${String(text).replaceAll("'", "'\\''")}'`;
  return `$'${visible(String(text).replace(/[\\']/g, '\\$&'))}'`;
}

/** Words that are no options, whatever they begin with. A key could be named like one. */
export const operands = (...words) => (words.some((word) => word.startsWith('-')) ? ['--', ...words] : words);

/** A name with its slashes, each part escaped: for places of the console. For a path of the API: pathOf(). */
export const escaped = (name) => name.split('/').map(encodeURIComponent).join('/');

/**
 * Whether a request by path would be about another name. A browser removes the parts `.` and `..`
 * (also as %2e; WHATWG URL, 4.4), and a server empty ones (docs/contract/01, section 4). One slash
 * at the end is normal.
 */
export function isOdd(name) {
  const parts = name.split('/');
  if (parts.length > 1 && parts.at(-1) === '') parts.pop();
  return parts.length > 1 || parts[0] !== '' ? parts.some((part) => part === '' || part === '.' || part === '..') : name !== '';
}

export class OddName extends Error {
  constructor(name) { super(`“${name}” has a part that is empty, “.” or “..”: a browser would request another name. Use a transaction (/v1/txn) or a program.`); }
}

/** A name as part of a path, with its slashes. @throws OddName */
export function pathOf(name) {
  if (isOdd(name)) throw new OddName(name);
  return escaped(name);
}

/** `/v1/...?a=1&b`: members that are undefined, null or false are left out, true is a parameter without a value. */
export function target(path, parameters = {}) {
  const words = Object.entries(parameters)
    .filter(([, value]) => value !== undefined && value !== null && value !== false)
    .map(([name, value]) => (value === true ? name : `${name}=${encodeURIComponent(value)}`));
  return words.length ? `${path}?${words.join('&')}` : path;
}

/** JSON.stringify(), with flags that parseJson() left as texts as numbers. */
export const toJson = (body) => JSON.stringify(body).replace(/"Flags":"(\d{16,20})"/g, '"Flags":$1');

const printable = (text) => /^[\x20-\x7e\n\t\u00a0-\uffff]*$/.test(text);

/**
 * @param call { method, path, parameters, body } with a body that is a text, bytes, or an object
 * that becomes JSON
 * @param where { origin, withToken } the token itself is never written: a shell variable
 * replaces it
 */
export function asCurl(call, where) {
  const words = ['curl', '-sS'];
  if (call.method && call.method !== 'GET') words.push('-X', call.method);
  if (where.withToken) words.push('-H', '"X-Consul-Token: $CONSUL_HTTP_TOKEN"');
  for (const [name, value] of Object.entries(call.headers || {})) words.push('-H', shellWord(`${name}: ${value}`));
  if (call.follows) words.push('-N');
  if (call.body !== undefined) {
    const body = bodyText(call.body);
    // For curl, @ would be the name of a file.
    if (body !== null && printable(body)) words.push(body.startsWith('@') ? '--data-raw' : '--data-binary', shellWord(body));
    else words.push('--data-binary', '@FILE');
  }
  words.push(shellWord(where.origin + target(call.path, call.parameters)));
  return words.join(' ');
}

function bodyText(body) {
  if (typeof body === 'string') return body;
  if (!(body instanceof Uint8Array)) return toJson(body);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return null;
  }
}

/**
 * @param words of the command after `belay`; null: there is no such command
 * @returns null, or the line
 */
export function asBelay(words, where) {
  if (!words) return null;
  const usual = where.origin === 'http://127.0.0.1:8500' || where.origin === 'http://localhost:8500';
  const line = ['belay', ...words.map(shellWord)].join(' ');
  return usual ? line : `BELAY_HTTP_ADDR=${shellWord(where.origin)} ${line}`;
}

/** Words of `belay kv put`. A value that the program would take for a file name, or for its input, is sent as base64. */
export function putWords(key, value, ...options) {
  const plain = value !== '-' && !value.startsWith('@');
  return ['kv', 'put', ...options, ...(plain ? [] : ['-base64']), ...operands(key, plain ? value : toBase64(new TextEncoder().encode(value)))];
}
