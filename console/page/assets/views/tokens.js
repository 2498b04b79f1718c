// The current login and its permissions; tokens, policies and roles for those who may manage them.

import { button, empty, facts, field, h, panel, refill, table, tag } from '../parts/dom.js';
import { call, complaint } from '../parts/api.js';
import { announce } from '../parts/announce.js';
import { copyCall } from '../parts/dialog.js';
import { askAgain } from '../parts/link.js';
import { refreshAccess } from '../parts/access.js';
import { setToken, token } from '../parts/session.js';
import { showManagement } from './tokens_management.js';

// Resource, segment, accesses: of everything below the empty segment.
const questions = [
  ['key', '', ['read', 'list', 'write']], ['session', '', ['read', 'write']], ['service', '', ['read', 'write']], ['node', '', ['read', 'write']],
  ['event', '', ['read', 'write']], ['agent', '', ['read', 'write']], ['operator', undefined, ['read', 'write']], ['keyring', undefined, ['read', 'write']], ['acl', undefined, ['read', 'write']],
];

export function show(main) {
  const who = h('div', {}), may = h('div', {}), management = h('div', {});
  const says = h('p', { class: 'says', 'aria-live': 'polite' });
  main.append(h('div', { class: 'head' }, h('h1', {}, 'Tokens'), says), h('div', { class: 'stack' }, h('div', { class: 'split' }, who, may), management));
  let ended = false;

  async function draw() {
    const self = { path: '/v1/acl/token/self' };
    let mine = null, off = false, problem = '';
    try {
      mine = (await call(self)).body;
    } catch (refused) {
      off = refused.status === 401;
      problem = token() || !refused.status ? complaint(refused) : '';
    }
    if (ended) return;
    if (off) says.textContent = 'ACLs are off: every client that reaches this server has all permissions.';
    else says.textContent = mine ? 'Logged in, in this tab.' : token() ? 'Not logged in: this tab has a token that is not accepted.' : 'Not logged in: you have the anonymous token\'s permissions.';
    drawWho(mine, off, problem);
    drawMay(off);
    showManagement(management, off);
  }

  function drawWho(mine, off, problem) {
    const secret = h('input', { type: 'password', autocomplete: 'off', required: true, spellcheck: 'false' });
    const form = h('form', {
      class: 'stack tight', onsubmit: (e) => {
        e.preventDefault();
        logIn(secret.value.trim());
      },
    }, field('Token secret', secret, 'It is kept until this tab is closed, and is sent only as a header.'),
    problem && h('p', { class: 'error', role: 'alert' }, problem), h('div', { class: 'row' }, h('button', { class: 'main' }, 'Log in'), token() && button('Log out', () => logIn(''))));
    refill(who, panel(mine ? 'Your token' : 'Log in', mine && [button('Log out', () => logIn('')), copyCall('This token', { path: '/v1/acl/token/self' }, ['acl', 'token', 'read', '-self'])],
      h('div', { class: 'inside' }, off ? h('p', {}, 'ACLs are off, so there is no token to log in with. Set ', h('code', {}, 'acl.enabled = true'), ' in the configuration to use tokens.')
        : mine ? facts(['Description', mine.Description || 'none'], ['Accessor ID', h('span', { class: 'mono' }, mine.AccessorID), true],
            ['Policies', names(mine.Policies)], ['Roles', names(mine.Roles)], ['Expires', mine.ExpirationTime || 'never'])
          : form)));
  }

  async function drawMay(off) {
    if (off) return refill(may);
    const asked = questions.flatMap(([Resource, Segment, accesses]) => accesses.map((Access) => ({ Resource, Segment, Access })));
    const looked = { method: 'POST', path: '/v1/internal/acl/authorize', body: asked };
    try {
      const answers = (await call(looked)).body;
      const allowed = (resource, access) => answers.find((a) => a.Resource === resource && a.Access === access)?.Allow;
      refill(may, panel('Your permissions', copyCall('Permissions of this token', looked, null),
        table('Permissions', ['Resource', 'Read', 'List', 'Write'], questions.map(([resource, , accesses]) => h('tr', {}, h('th', { scope: 'row' }, plurals[resource] || resource),
          ['read', 'list', 'write'].map((access) => h('td', {}, !accesses.includes(access) ? '' : allowed(resource, access) ? tag('yes', 'good') : tag('no')))))),
        empty('Permissions limited to some names are shown as no.')));
    } catch (refused) {
      refill(may, panel('Your permissions', null, empty(complaint(refused))));
    }
  }

  function logIn(secret) {
    setToken(secret);
    askAgain();
    refreshAccess();
    announce(secret ? 'Logged in' : 'Logged out');
    draw();
  }

  draw();
  return { moved() {}, end() { ended = true; } };
}

const plurals = { key: 'keys', session: 'sessions', service: 'services', node: 'nodes', event: 'events', agent: 'agents', acl: 'ACLs' };

const names = (list) => (list || []).map((p) => p.Name).join(', ') || 'none';
