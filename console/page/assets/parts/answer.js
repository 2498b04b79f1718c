// Asks the server, and makes of its answer what views get.

const headersTold = ['x-consul-index', 'x-belay-cursor', 'x-belay-next', 'x-belay-session-ttl-ms', 'x-belay-reason', 'x-belay-lock-delay-ms'];

export const headersOf = (token) => (token ? { 'X-Consul-Token': token } : {});

/**
 * @returns { status, text, body, headers, at } `body` is what the JSON says if it is some, `headers` those that views need, `at` the time of this machine
 * Throws what fetch() throws when nobody answers.
 */
export async function ask(path, token, signal) {
  const response = await fetch(path, { headers: headersOf(token), signal, cache: 'no-store' });
  const text = await response.text();
  const headers = {};
  for (const name of headersTold)
    if (response.headers.has(name)) headers[name] = response.headers.get(name);
  let body = text;
  if (response.ok)
    try { body = JSON.parse(text); } catch { /* a plain text */ }
  return { status: response.status, text, body, headers, at: Date.now() };
}
