// Sorts lists of claims, and finds circles of waiting sessions. Nothing here uses the page:
// tests/console/parts_test.py runs it.

/** The index at which that key was locked, or a later one. A fencing token is the index of the grant until an archive is restored, then a larger number. */
const grantOf = (lock) => Math.min(lock.Fence || Infinity, lock.ModifyIndex);

/**
 * @param rows of GET /v1/claims @param locks rows of keys that are locked
 * @returns resources, those with the longest queue first: { space: 'claim' | 'key', name, holders,
 * queue }
 */
export function resources(rows, locks = []) {
  const found = new Map();
  const of = (space, name) => {
    const key = `${space}/${name}`;
    if (!found.has(key)) found.set(key, { space, name, holders: [], queue: [] });
    return found.get(key);
  };
  for (const lock of locks) of('key', lock.Key).holders.push({ Session: lock.Session, Fence: lock.Fence, Index: grantOf(lock) });
  for (const row of rows) {
    const resource = row.Claim !== undefined ? of('claim', row.Claim) : of('key', row.Lock);
    resource[row.State === 'waiting' ? 'queue' : 'holders'].push(row);
  }
  return [...found.values()].sort((a, b) => b.queue.length - a.queue.length || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.space < b.space ? -1 : 1));
}

/**
 * Sessions that wait for each other in a circle: the strongly connected parts of the graph with
 * more than one session, or sessions that wait for themselves.
 * @param edges of GET /v1/claims/graph @returns Set of session IDs
 */
export function inCircles(edges) {
  const next = new Map();
  for (const { Session, Blocker } of edges) {
    if (!next.has(Session)) next.set(Session, new Set());
    if (!next.has(Blocker)) next.set(Blocker, new Set());
    next.get(Session).add(Blocker);
  }
  // Tarjan's algorithm, with an explicit stack: queues are long, and recursion would be deep.
  const order = new Map(), low = new Map(), open = [], isOpen = new Set(), circles = new Set();
  for (const start of next.keys()) {
    if (order.has(start)) continue;
    const work = [[start, next.get(start).values()]];
    const enter = (v) => { order.set(v, order.size); low.set(v, order.get(v)); open.push(v); isOpen.add(v); };
    enter(start);
    while (work.length) {
      const [v, successors] = work.at(-1);
      const step = successors.next();
      if (!step.done) {
        const w = step.value;
        if (!order.has(w)) { enter(w); work.push([w, next.get(w).values()]); }
        else if (isOpen.has(w)) low.set(v, Math.min(low.get(v), order.get(w)));
        continue;
      }
      work.pop();
      if (work.length) low.set(work.at(-1)[0], Math.min(low.get(work.at(-1)[0]), low.get(v)));
      if (low.get(v) !== order.get(v)) continue;
      const part = open.splice(open.indexOf(v));
      for (const w of part) isOpen.delete(w);
      if (part.length > 1 || next.get(v).has(v)) for (const w of part) circles.add(w);
    }
  }
  return circles;
}

/**
 * Where to draw each session: in columns, each waiting session to the left of those it waits for.
 * Circles are broken at the first edge that closes them.
 * @returns Map of session -> { column, row }
 */
export function columns(edges) {
  const next = new Map();
  for (const { Session, Blocker } of edges) {
    if (!next.has(Session)) next.set(Session, []);
    if (!next.has(Blocker)) next.set(Blocker, []);
    if (!next.get(Session).includes(Blocker)) next.get(Session).push(Blocker);
  }
  const depth = new Map();
  for (const start of next.keys()) {
    const path = new Set([start]);
    const work = depth.has(start) ? [] : [[start, 0]];
    while (work.length) {
      const top = work.at(-1);
      const [v, at] = top;
      if (at < next.get(v).length) {
        top[1] += 1;
        const w = next.get(v)[at];
        if (!depth.has(w) && !path.has(w)) { path.add(w); work.push([w, 0]); }
        continue;
      }
      depth.set(v, Math.max(0, ...next.get(v).filter((w) => depth.has(w)).map((w) => depth.get(w) + 1)));
      path.delete(v);
      work.pop();
    }
  }
  const deepest = Math.max(0, ...depth.values());
  const rows = [];
  return new Map([...depth].map(([session, d]) => {
    const column = deepest - d;
    rows[column] = (rows[column] ?? -1) + 1;
    return [session, { column, row: rows[column] }];
  }));
}
