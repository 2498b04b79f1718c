// Calls that are about exactly one key. A key whose name cannot be in a path (isOdd) is found among
// those of the level above, and changed by a transaction, which has its name in the body. Nothing
// here uses the page: tests/console/parts_test.py runs it.

import { escaped, isOdd } from './calls.js';
import { toBase64 } from './format.js';

/** The longest part of `name` that ends a level and can be in a path; empty: all keys. */
export function above(name) {
  let end = 0;
  for (let slash = name.indexOf('/'); slash !== -1 && !isOdd(name.slice(0, slash + 1)); slash = name.indexOf('/', slash + 1)) end = slash + 1;
  return name.slice(0, end);
}

/** The response is a list of one, or 404. */
export const lookAtKey = (key) => (isOdd(key)
  ? { path: `/v1/kv/${escaped(above(key))}`, parameters: { recurse: true, filter: `Key == ${JSON.stringify(key)}` } }
  : { path: `/v1/kv/${escaped(key)}` });

/** The response has names, from which namesBelow() or levelOf() takes those that begin with `prefix`. */
export const lookBelow = (prefix, parameters = {}) => (isOdd(prefix)
  ? { path: `/v1/kv/${escaped(above(prefix))}`, parameters: { keys: true } }
  : { path: `/v1/kv/${escaped(prefix)}`, parameters: { keys: true, ...parameters } });

export const namesBelow = (prefix, names) => names.filter((name) => name.startsWith(prefix));

/** The same up to the next slash each, without duplicates. */
export const levelOf = (prefix, names) => [...new Set(namesBelow(prefix, names).map((name) => {
  const slash = name.indexOf('/', prefix.length);
  return slash === -1 ? name : name.slice(0, slash + 1);
}))];

/** Only if it still has that index; 0: only if there is none. Otherwise: `false` or status 409. */
export const writeKey = (key, value, index, flags) => (isOdd(key)
  ? transaction({ Verb: 'cas', Key: key, Value: toBase64(typeof value === 'string' ? new TextEncoder().encode(value) : value), Flags: flags || 0, Index: index })
  : { method: 'PUT', path: `/v1/kv/${escaped(key)}`, parameters: { cas: index, flags: flags || undefined }, body: value });

export const deleteKey = (key, index) => (isOdd(key)
  ? transaction({ Verb: 'delete-cas', Key: key, Index: index })
  : { method: 'DELETE', path: `/v1/kv/${escaped(key)}`, parameters: { cas: index } });

export const deleteBelow = (prefix) => (isOdd(prefix)
  ? transaction({ Verb: 'delete-tree', Key: prefix })
  : { method: 'DELETE', path: `/v1/kv/${escaped(prefix)}`, parameters: { recurse: true } });

const transaction = (operation) => ({ method: 'PUT', path: '/v1/txn', body: [{ KV: operation }] });
