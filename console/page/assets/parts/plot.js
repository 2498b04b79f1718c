// Plots of samples: lines over time, as a drawing with a sentence for screen readers.

import { s } from './dom.js';
import { figure } from './format.js';

const width = 340, height = 120, left = 44, right = 6, top = 8, bottom = 18;

/** The next of 1, 2, 5, 10, ... that is not smaller. */
export function niceMax(value) {
  if (!(value > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((n) => n * unit).find((n) => n >= value * 0.9999);
}

/** Without a sample for this long there is no line: a server takes one every 10 s. */
export const gapMs = 30_000;

/** The points between two gaps each. */
export function parts(points) {
  const found = [];
  points.forEach((p, i) => (i && p[0] - points[i - 1][0] <= gapMs ? found.at(-1).push(p) : found.push([p])));
  return found;
}

/**
 * @param lines [{ points: [[time in ms, value]] }] with the classes plot-1, plot-2, ...
 * @param from, to times in ms
 */
export function plot(label, lines, from, to) {
  const most = niceMax(Math.max(0, ...lines.flatMap((l) => l.points.map((p) => p[1]))));
  const x = (t) => left + ((t - from) / Math.max(1, to - from)) * (width - left - right);
  const y = (v) => height - bottom - (v / most) * (height - top - bottom);
  const path = (points) => parts(points).map((part) => part.map(([t, v], i) => `${i ? 'L' : 'M'}${x(t).toFixed(1)} ${y(v).toFixed(1)}`).join('')).join('');
  const dots = (points) => parts(points).filter((part) => part.length === 1).map((part) => `${path(part)}h0`).join('');
  const minutes = Math.max(1, Math.round((to - from) / 60e3));
  return s('svg', { class: 'drawing', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label },
    [0, 0.5, 1].map((part) => [
      s('line', { class: 'axis', x1: left, x2: width - right, y1: y(part * most), y2: y(part * most) }),
      s('text', { class: 'label', x: left - 6, y: y(part * most) + 4, 'text-anchor': 'end' }, figure(part * most)),
    ]),
    s('text', { class: 'label', x: left, y: height - 4 }, `${minutes} min ago`),
    s('text', { class: 'label', x: width - right, y: height - 4, 'text-anchor': 'end' }, 'now'),
    lines.map((line, i) => [s('path', { class: `line plot-${i + 1}`, d: path(line.points) }), s('path', { class: `dot plot-${i + 1}`, d: dots(line.points) })]));
}
