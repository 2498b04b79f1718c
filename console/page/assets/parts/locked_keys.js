// Keys that are locked, or locked by one session. A server scans all keys for that (0.2 s of a core
// for a million), so with many keys it is queried only on request.

import { escaped, isOdd, target } from './calls.js';
import { above } from './key_names.js';
import { watch } from './link.js';
import { onMetrics, series } from './samples.js';

const keysMax = 100_000;

/** The call. `session`: only what that one holds. */
const lockedKeysCall = ({ prefix = '', session } = {}) => ({
  path: `/v1/kv/${escaped(above(prefix))}`,
  parameters: { recurse: true, filter: session ? `Session == ${JSON.stringify(session)}` : 'Session != ""' },
});

/**
 * `take` gets the responses as they come (404: there is none), or once { skipped: number of keys }.
 * @param what { prefix, session, always } `always`: with any number of keys @returns a function
 * that ends it
 */
export function watchLockedKeys(what, take) {
  const { path, parameters } = lockedKeysCall(what);
  let end = null;
  // The first metrics have the number of keys. Without permission for metrics it does not wait
  // either.
  const endWaiting = onMetrics((answer) => {
    if (!answer || end) return;
    const keys = series.points.at(-1)?.keys ?? 0;
    if (!what.always && !what.prefix && keys > keysMax) {
      end = () => {};
      take({ skipped: keys });
    } else {
      const below = (answer) => (answer.status === 200 ? { ...answer, body: answer.body.filter((k) => k.Key.startsWith(what.prefix)) } : answer);
      end = watch(target(path, parameters), isOdd(what.prefix || '') ? (answer) => take(below(answer)) : take);
    }
  });
  return () => {
    endWaiting();
    end?.();
  };
}
