// The metrics of the server, for all views: what the server remembers of the last hour, then new
// ones.

import { Series, perSecond, pointOf, requestTimes, valueOf } from './numbers.js';
import { watch } from './link.js';

export const series = new Series();
const listeners = new Set();
let last = null;

export function startSampling() {
  watch('/v1/agent/metrics', (answer) => {
    last = answer;
    if (answer.status === 200) series.add(answer.at, valuesOf(answer.body));
    for (const listener of listeners) listener(answer);
  }, 10_000);
  watch('/v1/agent/metrics?history', (answer) => {
    if (answer.status !== 200) return;
    series.fill(answer.body.Samples.map((row) => pointOf(row, answer.body.IntervalSeconds)));
    for (const listener of listeners) listener(last);
  }, 3600_000);
}

/** @returns a function that ends it */
export function onMetrics(listener) {
  listeners.add(listener);
  listener(last);
  return () => listeners.delete(listener);
}

function valuesOf(body) {
  const gauge = (name) => valueOf(body, name)?.value;
  const samples = (name) => valueOf(body, name);
  const request = requestTimes(body);
  return {
    stamp: body.Timestamp,
    requests: perSecond(body, 'http.request'), request: request?.mean, requestMax: request?.max, entries: perSecond(body, 'raft.apply'),
    commit: samples('raft.commitTime')?.mean, commitMax: samples('raft.commitTime')?.max,
    sync: samples('raft.fsync')?.mean, syncMax: samples('raft.fsync')?.max,
    held: gauge('claims.held'), waiting: gauge('claims.waiting'), keys: gauge('state.keys'),
    parked: gauge('watch.parked_queries'), streams: gauge('changes.streams'), connections: gauge('http.connections'),
    applied: gauge('raft.applied_index'), term: gauge('raft.term'), leader: gauge('raft.is_leader') === 1,
  };
}
