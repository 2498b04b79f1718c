// Parses responses of /v1/agent/metrics, and the last hour of some metrics. Nothing here uses the
// page: tests/console/parts_test.py runs it.

/** A metric by its name without the prefix: { value } of a gauge, { mean, max, rate, count } of a counter or samples; undefined: no events, or no such metric. */
export function valueOf(answer, name) {
  const is = (row) => row.Name === name || row.Name.endsWith(`.${name}`);
  const gauge = (answer.Gauges || []).find(is);
  if (gauge) return { value: gauge.Value };
  const rows = [...(answer.Counters || []), ...(answer.Samples || [])].filter(is);
  if (!rows.length) return undefined;
  const sum = rows.reduce((n, r) => n + r.Sum, 0), times = rows.reduce((n, r) => n + r.Count, 0);
  return { count: times, rate: rows.reduce((n, r) => n + r.Rate, 0), mean: times ? sum / times : 0, max: Math.max(...rows.map((r) => r.Max)) };
}

/** Events per second: a response covers the last complete 10 s. */
export const perSecond = (answer, name) => (valueOf(answer, name)?.count ?? 0) / 10;

const keptMs = 3600e3;

/** Durations of requests, except blocking queries: { mean, max }; undefined: there were none. */
export function requestTimes(answer) {
  const rows = (answer.Samples || []).filter((r) => r.Name.endsWith('http.request') && r.Labels?.route !== 'blocking');
  return rows.length ? valueOf({ Samples: rows }, 'http.request') : undefined;
}

/** A row of /v1/agent/metrics?history, as a point of a series. Absent is not zero: without events there is no duration. */
export function pointOf(row, seconds) {
  const time = (ms) => (ms > 0 ? ms : undefined);
  return {
    at: (row.Time + seconds) * 1000,
    requests: row.Requests, request: time(row.RequestMs), requestMax: time(row.RequestMaxMs),
    entries: row.Entries, commit: time(row.CommitMs), commitMax: time(row.CommitMaxMs), sync: time(row.SyncMs), syncMax: time(row.SyncMaxMs),
    held: row.ClaimsHeld, waiting: row.ClaimsWaiting, keys: row.Keys, parked: row.ParkedQueries, streams: row.Streams, connections: row.Connections,
    term: row.Term, leader: row.Leader, applied: row.AppliedIndex || undefined,
  };
}

/** Where the term has changed, the newest first: { at, term, leads }; `leads`: whether this server led at the end of the interval. */
export function electionsIn(points) {
  const found = [];
  let before;
  for (const p of points) {
    if (p.term === undefined) continue;
    if (before !== undefined && p.term !== before) found.unshift({ at: p.at, term: p.term, leads: p.leader });
    before = p.term;
  }
  return found;
}

/**
 * When that index was applied: { at, exactly }, to 10 s, the length of an interval. Not `exactly`:
 * at that time or before.
 * undefined: unknown
 */
export function timeOfIndex(points, index) {
  const known = points.filter((p) => p.applied !== undefined);
  const n = known.findIndex((p) => p.applied >= index);
  return n < 0 ? undefined : { at: known[n].at, exactly: n > 0 };
}

/** Values of the last hour. */
export class Series {
  points = [];

  add(at, values) {
    if (this.points.length && this.points.at(-1).stamp === values.stamp) return;
    this.points.push({ at, ...values });
    while (this.points.length && this.points[0].at < at - keptMs) this.points.shift();
  }

  /** Adds what was before the first one. @param points oldest first */
  fill(points) {
    const first = this.points[0]?.at ?? Infinity;
    this.points.unshift(...points.filter((p) => p.at < first - 5000));
  }

  line(name) {
    return this.points.filter((p) => Number.isFinite(p[name])).map((p) => [p.at, p[name]]);
  }
}
