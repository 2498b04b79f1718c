// Which session waits for which, as a drawing and as a list; sessions that wait for each other in a
// circle are marked in both.

import { counted, shortId } from '../parts/format.js';
import { empty, h, panel, refill, refusal, s, table, tag } from '../parts/dom.js';
import { columns, inCircles } from '../parts/claims.js';
import { copyCall } from '../parts/dialog.js';
import { watch } from '../parts/link.js';
import { to } from '../parts/places.js';

const edgesDrawn = 200, edgesListed = 500;
const boxWidth = 104, boxHeight = 26, columnWidth = 220, rowHeight = 44;

/** @returns a function that ends it */
export function showGraph(box) {
  const looked = { path: '/v1/claims/graph' };
  return watch(looked.path, (answer) => {
    const actions = copyCall('Wait graph', looked, ['claims', 'graph']);
    if (answer.status !== 200) return refill(box, panel('Wait graph', null, refusal(answer)));
    const { Edges: edges, Truncated: truncated } = answer.body;
    if (!edges.length) return refill(box, panel('Wait graph', actions, empty('No session waits for another. If one does, the graph shows for which, and marks deadlocks.')));
    const whole = edges.filter((e) => e.Session && e.Blocker); // else one of the two sessions may be invisible
    const circles = inCircles(whole);
    refill(box, h('div', { class: 'stack' },
      panel('Wait graph',
        [circles.size ? tag(`${counted(circles.size, 'session')} in a deadlock`, 'bad') : tag('no deadlock', 'good'), actions],
        h('div', { class: 'inside scroll', tabindex: 0, role: 'region', 'aria-label': 'Drawing of the graph' }, drawing(whole.slice(0, edgesDrawn), circles)),
        (truncated || edges.length > edgesDrawn) && empty(`The first ${edgesDrawn} of ${truncated ? 'more than ' : ''}${counted(edges.length, 'edge')} are drawn.`)),
      panel('As a list', null, table('Wait graph', ['Session', 'Waits for', 'Blocked by', 'Deadlock'],
        edges.slice(0, edgesListed).map((e) => h('tr', { 'data-key': `${e.ID} ${e.Blocker} ${e.Claim ?? e.Lock}` },
          h('th', { scope: 'row' }, e.Session ? session(e.Session) : 'hidden session'), h('td', {}, what(e)),
          h('td', {}, e.Blocker ? session(e.Blocker) : 'hidden session', e.BlockerHolds ? ' (holder)' : ' (ahead in the queue)'),
          h('td', {}, circles.has(e.Session) && circles.has(e.Blocker) ? tag('deadlock', 'bad') : '')))))));
  });
}

const session = (id) => h('a', { class: 'id', href: to('sessions', id), title: id }, shortId(id));
const what = (e) => (e.Redacted ? 'hidden name' : e.Claim !== undefined ? h('a', { href: to('locks', 'claim', e.Claim) }, e.Claim) : h('a', { href: to('locks', 'key', e.Lock) }, e.Lock));

function drawing(edges, circles) {
  const places = columns(edges);
  const x = (p) => 8 + p.column * columnWidth, y = (p) => 8 + p.row * rowHeight;
  const all = [...places.values()];
  const width = 16 + Math.max(...all.map((p) => p.column)) * columnWidth + boxWidth;
  const height = 24 + Math.max(...all.map((p) => p.row)) * rowHeight + boxHeight;
  const label = `Wait graph: ${counted(places.size, 'session')}, ${counted(edges.length, 'edge')}. The list below has the same data.`;
  const arrow = (kind) => s('marker', { id: `arrow${kind}`, viewBox: '0 0 8 8', refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' },
    s('path', { class: `arrow ${kind}`, d: 'M0 0L8 4L0 8z' }));
  const drawn = s('svg', { class: 'drawing', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label },
    s('defs', {}, ['', 'circle'].map(arrow)),
    pairs(edges).map((e) => {
      const a = places.get(e.Session), b = places.get(e.Blocker);
      const circle = circles.has(e.Session) && circles.has(e.Blocker);
      return [s('path', { class: `edge ${circle ? 'circle' : ''}`, d: edgePath(a, b, x, y), 'marker-end': `url(#arrow${circle ? 'circle' : ''})` }),
        b.column === a.column + 1 && s('text', { class: 'label', x: (x(a) + boxWidth + x(b)) / 2, y: (y(a) + y(b) + boxHeight) / 2 - 5, 'text-anchor': 'middle' }, shorten(e.names))];
    }),
    [...places].map(([id, p]) => s('g', { class: `node ${circles.has(id) ? 'circle' : ''}` },
      s('rect', { x: x(p), y: y(p), width: boxWidth, height: boxHeight, rx: 5 }),
      s('text', { x: x(p) + boxWidth / 2, y: y(p) + boxHeight / 2 + 4, 'text-anchor': 'middle' }, shortId(id)))));
  drawn.style.maxWidth = `${width}px`;
  drawn.style.minWidth = `${Math.min(width, 640)}px`;
  return drawn;
}

/** One edge for each pair of sessions, with all names for which the one waits for the other. */
function pairs(edges) {
  const found = new Map();
  for (const e of edges) {
    const key = `${e.Session} ${e.Blocker}`;
    if (!found.has(key)) found.set(key, { Session: e.Session, Blocker: e.Blocker, names: [] });
    found.get(key).names.push(e.Claim ?? e.Lock ?? 'hidden');
  }
  return [...found.values()];
}

function shorten([name, ...others]) {
  const more = others.length ? ` +${others.length}` : '';
  const room = 16 - more.length;
  return (name.length > room ? `…${name.slice(1 - room)}` : name) + more;
}

function edgePath(a, b, x, y) {
  const middle = (p) => y(p) + boxHeight / 2;
  if (b.column > a.column) {
    const from = x(a) + boxWidth, until = x(b), half = (from + until) / 2;
    return `M${from} ${middle(a)}C${half} ${middle(a)} ${half} ${middle(b)} ${until} ${middle(b)}`;
  }
  // Back in a circle: below all boxes in between.
  const low = Math.max(y(a), y(b)) + boxHeight + 14;
  return `M${x(a) + boxWidth / 2} ${y(a) + boxHeight}C${x(a)} ${low} ${x(b) + boxWidth} ${low} ${x(b) + boxWidth / 2} ${y(b) + boxHeight}`;
}
