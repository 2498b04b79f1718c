// Sends a request to the server, and converts the response for views.

const headersTold = ['x-consul-index', 'x-belay-cursor', 'x-belay-next', 'x-belay-session-ttl-ms', 'x-belay-reason', 'x-belay-lock-delay-ms'];

export const lacksLeader = ({ status, text, message }) => status === 500 && String(text || message).includes('No cluster leader');

/**
 * JSON.parse(), but flags of keys that are no number of JavaScript are texts. toJson() of calls.js
 * writes them as numbers. In a text, the quotes of "Flags" would be escaped.
 */
export const parseJson = (text) => JSON.parse(text.includes('"Flags"') ? text.replace(/"Flags":\s*(\d{16,20})(?=[,}\s])/g, '"Flags":"$1"') : text);

export const headersOf = (token) => (token ? { 'X-Consul-Token': token } : {});

/**
 * @returns { status, text, body, headers, at } `body` is the parsed JSON, if it is JSON, `headers`
 * those that views need, `at` the time of this machine
 * Throws what fetch() throws without a response.
 */
export async function ask(path, token, signal) {
  const response = await fetch(path, { headers: headersOf(token), signal, cache: 'no-store' });
  const text = await response.text();
  const headers = {};
  for (const name of headersTold)
    if (response.headers.has(name)) headers[name] = response.headers.get(name);
  let body = text;
  if (response.ok)
    try { body = parseJson(text); } catch { /* a plain text */ }
  return { status: response.status, text, body, headers, at: Date.now() };
}
