// Which keys are locked, or locked by one session. A server looks through all keys for that (0.2 s of a core for a million), so that where there are
// many it is asked only when somebody says so.

import { pathOf, target } from './calls.js';
import { watch } from './link.js';
import { onMetrics, series } from './samples.js';

const keysMax = 100_000;

/** The call that looks. `session`: only what that one holds. */
const lockedKeysCall = ({ prefix = '', session } = {}) => ({
  path: `/v1/kv/${pathOf(prefix)}`,
  parameters: { recurse: true, filter: session ? `Session == ${JSON.stringify(session)}` : 'Session != ""' },
});

/**
 * `take` gets the answers as they come (404: there is none), or once { skipped: how many keys there are }.
 * @param what { prefix, session, always } `always`: however many there are @returns what ends it
 */
export function watchLockedKeys(what, take) {
  const { path, parameters } = lockedKeysCall(what);
  let end = null;
  // The first figures say how many keys there are; who may not see figures is not kept waiting either.
  const endWaiting = onMetrics((answer) => {
    if (!answer || end) return;
    const keys = series.points.at(-1)?.keys ?? 0;
    if (!what.always && !what.prefix && keys > keysMax) {
      end = () => {};
      take({ skipped: keys });
    } else {
      end = watch(target(path, parameters), take);
    }
  });
  return () => {
    endWaiting();
    end?.();
  };
}
