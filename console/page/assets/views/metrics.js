// Rates and times of this server in the last hour.

import { duration, figure } from '../parts/format.js';
import { empty, h, panel, refill } from '../parts/dom.js';
import { complaint } from '../parts/api.js';
import { copyCall } from '../parts/dialog.js';
import { gapMs, plot } from '../parts/plot.js';
import { onMetrics, series } from '../parts/samples.js';

const least = 60e3;

const plots = [
  { title: 'Requests', unit: 'per second', lines: [['requests', 'all']] },
  { title: 'Request time', unit: 'ms', lines: [['request', 'mean'], ['requestMax', 'max']] },
  { title: 'Log entries', unit: 'per second', lines: [['entries', 'proposed here']] },
  { title: 'Commit time', unit: 'ms', lines: [['commit', 'mean'], ['commitMax', 'max']] },
  { title: 'Log sync', unit: 'ms', lines: [['sync', 'mean'], ['syncMax', 'max']] },
  { title: 'Claims', unit: '', lines: [['held', 'held'], ['waiting', 'waiting']] },
  { title: 'Keys', unit: '', lines: [['keys', 'keys']] },
  { title: 'Waiting queries and streams', unit: '', lines: [['parked', 'queries'], ['streams', 'streams']] },
  { title: 'Connections', unit: '', lines: [['connections', 'clients']] },
];

export function show(main) {
  const says = h('p', { class: 'says' });
  const box = h('div', {});
  const looked = { path: '/v1/agent/metrics' };
  main.append(h('div', { class: 'head' }, h('h1', {}, 'Metrics'), says, copyCall('Metrics of this server', looked, null)), box);

  const end = onMetrics((answer) => {
    if (answer && answer.status !== 200) return refill(box, h('p', { class: 'error' }, complaint(answer)));
    const { points } = series;
    if (!points.length) return refill(box, empty('No samples yet: the first arrive within 10 seconds.'));
    const to = points.at(-1).at, from = Math.min(points[0].at, to - least);
    if (points.length < 2) says.textContent = 'First samples of this server; new ones every 10 seconds.';
    else says.textContent = `Samples of this server, every 10 seconds, for ${duration(to - points[0].at)}. It keeps one hour.`;
    refill(box, h('div', { class: 'plots' }, plots.map((p) => {
      const lines = p.lines.map(([name, label]) => ({ label, points: series.line(name) }));
      const last = lines.map((l) => (l.points.at(-1)?.[0] >= to - gapMs ? l.points.at(-1)[1] : undefined));
      const told = lines.map((l, i) => `${l.label} ${last[i] === undefined ? 'no data' : figure(last[i])}${p.unit && ` ${p.unit}`}`).join(', ');
      return panel(p.title, h('span', { class: 'now' }, last[0] === undefined ? '–' : `${figure(last[0])} ${p.unit}`),
        h('div', { class: 'inside' }, plot(`${p.title}: ${told}`, lines, from, to),
          h('div', { class: 'row' }, lines.map((l, i) => h('span', { class: `legend plot-${i + 1}` }, l.label)))));
    })));
  });
  return { moved() {}, end };
}
