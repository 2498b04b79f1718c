// The frame of the console: the current place, navigation, and the state of the server. Views show
// the contents.

import { h, refill } from './parts/dom.js';
import { access, onAccess, refreshAccess } from './parts/access.js';
import { since } from './parts/clock.js';
import { onLink, start, watch } from './parts/link.js';
import { openPalette } from './parts/palette.js';
import { read, to } from './parts/places.js';
import { startSampling } from './parts/samples.js';
import { isDark, startTheme, switchTheme } from './parts/theme.js';
import { announce } from './parts/announce.js';
import * as changes from './views/changes.js';
import * as cluster from './views/cluster.js';
import * as events from './views/events.js';
import * as keys from './views/keys.js';
import * as locks from './views/locks.js';
import * as metrics from './views/metrics.js';
import * as services from './views/services.js';
import * as sessions from './views/sessions.js';
import * as tokens from './views/tokens.js';

// Each is a module with show(main, rest), which returns a function that ends it, and may have
// moved(rest).
const views = [
  { name: 'locks', title: 'Locks', module: locks },
  { name: 'keys', title: 'Keys', module: keys },
  { name: 'sessions', title: 'Sessions', module: sessions },
  { name: 'services', title: 'Services', module: services },
  { name: 'changes', title: 'Changes', module: changes },
  { name: 'events', title: 'Events', module: events },
  { name: 'cluster', title: 'Cluster', module: cluster },
  { name: 'metrics', title: 'Metrics', module: metrics },
  { name: 'tokens', title: 'Tokens', module: tokens },
];

const main = h('main', { id: 'main', tabindex: -1 });
const place = h('span', { class: 'place' });
const noticeLink = h('div', { role: 'alert' });
const noticeLeader = h('div', { role: 'alert' });
const noticeLogin = h('div', { role: 'status' });
const login = h('span', {});
const linkState = h('span', { class: 'link tag', 'data-test': 'link' }, 'connecting');
const links = views.map((v) => h('a', { href: to(v.name) }, v.title));
const themeButton = h('button', { type: 'button', onclick: switchTheme });
startTheme(() => { themeButton.textContent = isDark() ? 'Light' : 'Dark'; themeButton.title = `Switch to ${isDark() ? 'light' : 'dark'} colors`; });

document.body.prepend(
  h('a', { class: 'skip', href: '#main', onclick: (e) => { e.preventDefault(); main.focus(); } }, 'Skip to content'),
  h('div', { class: 'frame' },
    h('div', { class: 'top-and-notice' },
      h('header', { class: 'top' },
        h('a', { class: 'brand', href: to('locks') }, h('img', { src: new URL('mark.svg', import.meta.url).href, alt: '' }), 'Belay'),
        place, linkState, login,
        h('button', { type: 'button', onclick: () => openPalette(views), 'aria-keyshortcuts': 'Control+K' }, 'Go to … ', h('span', { class: 'quiet' }, 'Ctrl K')),
        themeButton),
      noticeLink, noticeLeader, noticeLogin),
    h('nav', { class: 'side', 'aria-label': 'Views' }, h('ul', {}, links.map((a) => h('li', {}, a)))),
    main));

addEventListener('keydown', (e) => {
  if ((e.ctrlKey || e.metaKey) && !e.altKey && e.key.toLowerCase() === 'k') {
    e.preventDefault();
    openPalette(views);
  }
});

// ---- the state of the server

let up = true, leader;

function tellState() {
  const [text, kind] = !up ? ['unreachable', 'bad'] : leader === '' ? ['no leader', 'warn'] : ['live', 'good'];
  linkState.textContent = text;
  linkState.className = `link tag ${kind}`;
}

onLink((link) => {
  if (link.up !== up) announce(link.up ? 'Server reachable again' : 'Server unreachable');
  up = link.up;
  refill(noticeLink, !up && h('p', { class: 'notice' }, 'This server has not answered for ', since(Date.now() - link.since, performance.now()),
    '. Shown: the last known state. The page retries until the server answers.'));
  tellState();
});
watch('/v1/status/leader', (answer) => {
  const now = answer.status === 200 ? answer.body : '';
  if (now !== leader && leader !== undefined) announce(now ? `Leader: ${now}` : 'No leader');
  if (now !== leader) refill(noticeLeader, now === '' && h('p', { class: 'notice warn' }, 'The cluster has no leader: writes fail until one is elected, and lists show the last known state. Check that a majority of the servers runs and that they reach each other.'));
  leader = now;
  tellState();
}, 2000);
watch('/v1/agent/self', (answer) => {
  if (answer.status !== 200) return refill(place, location.host);
  const { Config: config, Stats: stats } = answer.body;
  refill(place, `${config.NodeName} · ${config.Datacenter}${stats.raft ? ` · ${stats.raft.state.toLowerCase()}` : ' · client agent'}`);
}, 60_000);

// ---- the login

const logins = { none: ['not logged in', 'warn'], invalid: ['invalid token', 'bad'], valid: ['logged in', 'good'] };
const toTokens = (text) => h('a', { href: to('tokens') }, text);

onAccess(() => {
  const [text, kind] = logins[access.login] || [];
  refill(login, text && h('a', { class: `tag ${kind}`, href: to('tokens'), title: access.name || undefined }, text));
  refill(noticeLogin,
    access.login === 'invalid' ? h('p', { class: 'notice' }, 'The token of this tab is not accepted: the server rejects all requests. ', toTokens('Log in again or log out'))
      : access.login === 'none' && access.limited.size > 0 && h('p', { class: 'notice warn' }, 'Not logged in: only what the anonymous token may read is shown. ', toTokens('Log in')));
});

// ---- the current view

let shown = null;

function go() {
  const { view: name, rest } = read();
  const at = views.findIndex((v) => v.name === name);
  if (at < 0) return location.replace(to('locks'));
  for (const dialog of document.querySelectorAll('dialog[open]:not(.keep)')) dialog.close();
  if (shown?.name === name) return shown.view.moved(rest);
  shown?.view.end();
  links.forEach((a, i) => (i === at ? a.setAttribute('aria-current', 'page') : a.removeAttribute('aria-current')));
  document.title = `${views[at].title} – Belay`;
  main.replaceChildren();
  main.scrollTop = 0;
  shown = { name, view: views[at].module.show(main, rest) };
  announce(views[at].title);
}

addEventListener('hashchange', go);
go();
await start(new URL('worker.js', import.meta.url).href);
startSampling();
refreshAccess();
setInterval(() => { if (access.login !== 'off' && document.visibilityState !== 'hidden') refreshAccess(); }, 60_000);
