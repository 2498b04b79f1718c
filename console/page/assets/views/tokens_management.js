// Lists of tokens, policies and roles, and their changes.

import { button, empty, field, h, panel, refill, table, tag } from '../parts/dom.js';
import { call, complaint } from '../parts/api.js';
import { ask, copyCall, prepare } from '../parts/dialog.js';
import { shortId } from '../parts/format.js';
import { pathOf } from '../parts/calls.js';

const globalManagement = '00000000-0000-0000-0000-000000000001', anonymous = '00000000-0000-0000-0000-000000000002';

/** Redraws the current state. `off`: ACLs are disabled. */
export async function showManagement(box, off) {
  if (off) return refill(box);
  const ask_ = async (path) => {
    try {
      return { rows: (await call({ path })).body };
    } catch (refused) {
      return { refused };
    }
  };
  const [tokens, policies, roles] = await Promise.all(['/v1/acl/tokens', '/v1/acl/policies', '/v1/acl/roles'].map(ask_));
  const denied = tokens.refused?.status === 403;
  if (tokens.refused) return refill(box, panel('Management', null, empty(denied ? 'With acl:read you can see tokens, policies and roles here, and with acl:write change them.' : complaint(tokens.refused))));
  // Without these lists a change would drop what is not shown.
  const failed = [policies, roles].find((answer) => answer.refused);
  if (failed) return refill(box, panel('Management', null, empty(complaint(failed.refused))));
  const again = () => showManagement(box, off);
  refill(box, h('div', { class: 'stack' },
    tokenList(tokens.rows, policies.rows, roles.rows, again), policyList(policies.rows, again), roleList(roles.rows, policies.rows, again)));
}

const names = (list) => (list || []).map((p) => p.Name).join(', ');
/** Also those that were linked since the list was read: saving keeps them. */
const choices = (rows, chosen) => [...rows, ...(chosen || []).filter((c) => !rows.some((r) => r.ID === c.ID))].map((r) => ({ row: r, box: h('input', { type: 'checkbox', checked: (chosen || []).some((c) => c.ID === r.ID) }) }));
const choiceFields = (legend, all) => all.length > 0 && h('fieldset', {}, h('legend', {}, legend), h('div', { class: 'row' }, all.map((c) => h('label', { class: 'choice' }, c.box, c.row.Name))));
const chosenOf = (all) => all.filter((c) => c.box.checked).map((c) => ({ ID: c.row.ID, Name: c.row.Name }));

function tokenList(tokens, policies, roles, again) {
  const looked = { path: '/v1/acl/tokens' };
  return panel('Tokens', [copyCall('All tokens', looked, ['acl', 'token', 'list']), button('New token', create, 'main')],
    table('Tokens', ['Accessor', 'Description', 'Policies and roles', 'Expires', '(Actions)'],
      tokens.map((t) => h('tr', { 'data-key': t.AccessorID },
        h('th', { scope: 'row', class: 'mono', title: t.AccessorID }, shortId(t.AccessorID)), h('td', { class: 'wrap' }, t.Description),
        h('td', {}, [names(t.Policies), names(t.Roles)].filter(Boolean).join(', ') || h('span', { class: 'quiet' }, 'none')), h('td', {}, t.ExpirationTime || 'never'),
        h('td', {}, h('div', { class: 'row end' }, button('Edit', () => prepare(`Token ${shortId(t.AccessorID)}`, () => edit(t.AccessorID))), t.AccessorID !== anonymous && button('Delete', () => remove(t), 'danger')))))));

  function inputs(t) {
    const description = h('input', { type: 'text', value: t.Description || '' });
    const ofPolicies = choices(policies, t.Policies), ofRoles = choices(roles, t.Roles);
    const written = () => ({ Description: description.value, Policies: chosenOf(ofPolicies), Roles: chosenOf(ofRoles) });
    return { written, fields: [field('Description', description), choiceFields('Policies', ofPolicies), choiceFields('Roles', ofRoles)] };
  }

  function create() {
    const i = inputs({});
    const ttl = h('input', { type: 'text', placeholder: '24h' });
    ask({
      title: 'New token', verb: 'Create', inputs: [...i.fields, field('Expires after (empty: never)', ttl)],
      call: () => ({ method: 'PUT', path: '/v1/acl/token', body: { ...i.written(), ExpirationTTL: ttl.value || undefined } }),
      belay: () => {
        const { Description: description, Policies: of, Roles: as } = i.written();
        return ['acl', 'token', 'create', `-description=${description}`, ...of.map((p) => `-policy-name=${p.Name}`), ...as.map((r) => `-role-name=${r.Name}`),
          ...(ttl.value ? [`-expires-ttl=${ttl.value}`] : [])];
      },
      done: ({ body }) => { showSecret(body); again(); },
    });
  }

  async function edit(accessor) {
    const { body: t } = await call({ path: `/v1/acl/token/${accessor}` }); // the list may be old
    const i = inputs(t);
    ask({
      title: `Token ${shortId(t.AccessorID)}`, verb: 'Save', inputs: i.fields,
      call: () => ({
        method: 'PUT', path: `/v1/acl/token/${t.AccessorID}`,
        body: { ...i.written(), Local: t.Local, ServiceIdentities: t.ServiceIdentities, NodeIdentities: t.NodeIdentities },
      }),
      done: again,
    });
  }

  function remove(t) {
    ask({
      title: `Delete token ${shortId(t.AccessorID)}`, verb: 'Delete', danger: true, explain: h('p', {}, 'Requests with this token are rejected from then on, and its streams end.'),
      call: () => ({ method: 'DELETE', path: `/v1/acl/token/${t.AccessorID}` }), belay: () => ['acl', 'token', 'delete', `-id=${t.AccessorID}`], done: again,
    });
  }
}

/** Lists contain no secrets: it is shown only this time. */
function showSecret(made) {
  const dialog = h('dialog', { class: 'keep', 'aria-label': 'New token', onclose: () => dialog.remove() }, h('form', { method: 'dialog' }, h('h2', {}, 'New token'),
    h('p', {}, 'Copy the secret now: it is not shown again.'), h('pre', { class: 'value', tabindex: 0, role: 'region', 'aria-label': 'Secret' }, made.SecretID),
    h('div', { class: 'row end' }, h('button', { class: 'main', autofocus: true }, 'Done'))));
  document.body.append(dialog);
  dialog.showModal();
}

function policyList(policies, again) {
  const looked = { path: '/v1/acl/policies' };
  return panel('Policies', [copyCall('All policies', looked, ['acl', 'policy', 'list']), button('New policy', () => edit(null), 'main')],
    table('Policies', ['Name', 'Description', '(Actions)'],
      policies.map((p) => h('tr', { 'data-key': p.ID }, h('th', { scope: 'row' }, p.Name), h('td', { class: 'wrap' }, p.Description),
        h('td', {}, h('div', { class: 'row end' }, p.ID === globalManagement ? tag('built-in') : [button('Edit', () => prepare(`Policy ${p.Name}`, () => edit(p))), button('Delete', () => remove(p), 'danger')]))))));

  async function edit(p) {
    let whole = { Name: '', Description: '', Rules: '' };
    if (p) whole = (await call({ path: `/v1/acl/policy/${pathOf(p.ID)}` })).body;
    const name = h('input', { type: 'text', value: whole.Name }), description = h('input', { type: 'text', value: whole.Description });
    const rules = h('textarea', { value: whole.Rules, spellcheck: 'false', placeholder: 'key_prefix "app/" { policy = "write" }' });
    ask({
      title: p ? `Policy ${p.Name}` : 'New policy', verb: p ? 'Save' : 'Create', inputs: [field('Name', name), field('Description', description), field('Rules', rules)],
      check: () => (name.value ? '' : 'Enter the name of the policy.'),
      call: () => ({
        method: 'PUT', path: p ? `/v1/acl/policy/${p.ID}` : '/v1/acl/policy',
        body: { Name: name.value, Description: description.value, Rules: rules.value, Datacenters: whole.Datacenters },
      }),
      belay: () => ['acl', 'policy', ...(p ? ['update', `-id=${p.ID}`] : ['create']), `-name=${name.value}`, `-description=${description.value}`, `-rules=${rules.value}`],
      done: again,
    });
  }

  function remove(p) {
    ask({
      title: `Delete policy ${p.Name}`, verb: 'Delete', danger: true, explain: h('p', {}, 'Tokens and roles lose its permissions.'),
      call: () => ({ method: 'DELETE', path: `/v1/acl/policy/${p.ID}` }), belay: () => ['acl', 'policy', 'delete', `-id=${p.ID}`], done: again,
    });
  }
}

function roleList(roles, policies, again) {
  const looked = { path: '/v1/acl/roles' };
  return panel('Roles', [copyCall('All roles', looked, ['acl', 'role', 'list']), button('New role', () => edit(null), 'main')],
    !roles.length ? empty('No roles yet. A role groups policies under one name: create one with New role.') : table('Roles', ['Name', 'Description', 'Policies', '(Actions)'],
      roles.map((r) => h('tr', { 'data-key': r.ID }, h('th', { scope: 'row' }, r.Name), h('td', { class: 'wrap' }, r.Description), h('td', {}, names(r.Policies)),
        h('td', {}, h('div', { class: 'row end' }, button('Edit', () => prepare(`Role ${r.Name}`, () => edit(r))), button('Delete', () => remove(r), 'danger')))))));

  async function edit(listed) {
    const r = listed && (await call({ path: `/v1/acl/role/${listed.ID}` })).body;
    const name = h('input', { type: 'text', value: r?.Name || '' }), description = h('input', { type: 'text', value: r?.Description || '' });
    const of = choices(policies, r?.Policies);
    ask({
      title: r ? `Role ${r.Name}` : 'New role', verb: r ? 'Save' : 'Create', inputs: [field('Name', name), field('Description', description), choiceFields('Policies', of)],
      check: () => (name.value ? (chosenOf(of).length ? '' : 'Select at least one policy.') : 'Enter the name of the role.'),
      call: () => ({
        method: 'PUT', path: r ? `/v1/acl/role/${r.ID}` : '/v1/acl/role',
        body: { Name: name.value, Description: description.value, Policies: chosenOf(of), ServiceIdentities: r?.ServiceIdentities, NodeIdentities: r?.NodeIdentities },
      }),
      belay: () => ['acl', 'role', ...(r ? ['update', `-id=${r.ID}`, '-no-merge'] : ['create']), `-name=${name.value}`,
        `-description=${description.value}`, ...chosenOf(of).map((p) => `-policy-name=${p.Name}`)],
      done: again,
    });
  }

  function remove(r) {
    ask({
      title: `Delete role ${r.Name}`, verb: 'Delete', danger: true, explain: h('p', {}, 'Tokens lose its permissions.'),
      call: () => ({ method: 'DELETE', path: `/v1/acl/role/${r.ID}` }), belay: () => ['acl', 'role', 'delete', `-id=${r.ID}`], done: again,
    });
  }
}
