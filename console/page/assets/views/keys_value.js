// One key: its value as text, JSON or bytes, its history, and changes that cannot overwrite what
// others write meanwhile.

import { asHex, asJson, asText, bytes, count, differing, fromBase64, shortId } from '../parts/format.js';
import { button, empty, facts, field, h, panel, refill, refusal, table, tag } from '../parts/dom.js';
import { call, complaint } from '../parts/api.js';
import { ask, copyCall } from '../parts/dialog.js';
import { announce } from '../parts/announce.js';
import { escaped, isOdd, operands, putWords, target } from '../parts/calls.js';
import { deleteKey, lookAtKey, writeKey } from '../parts/key_names.js';
import { watch } from '../parts/link.js';
import { to } from '../parts/places.js';

const forgotten = 'This server has no changes of this key: it keeps the most recent changes of all keys. New ones appear here.';

/** @returns a function that ends it */
export function showKey(box, key) {
  const looked = lookAtKey(key), odd = isOdd(key);
  const history_ = { path: `/v1/kv/${escaped(key)}`, parameters: { history: true } }; // not of an odd name
  const top = h('div', {}), body = h('div', {}), history = h('div', {});
  const says = h('p', { class: 'quiet says-live', 'aria-live': 'polite' });
  let entry = null, form = null, editing = null;
  box.append(h('div', { class: 'stack' }, top, body, history));

  const end = watch(target(looked.path, looked.parameters), (answer) => {
    if (answer.status !== 200) {
      entry = null;
      editing = null;
      refill(top, panel(key, null, answer.status === 404 ? empty('This key does not exist: it was deleted, or never written. Create it with New key.') : refusal(answer)));
      body.replaceChildren();
      return drawHistory();
    }
    const before = entry;
    entry = answer.body[0];
    if (before && before.ModifyIndex !== entry.ModifyIndex) announce(`${key} changed`);
    drawTop();
    if (editing) says.textContent = entry.ModifyIndex === editing.index ? '' : `The key has changed since you began to edit (index ${entry.ModifyIndex}). If you save, both values are shown.`;
    else drawValue();
    drawHistory();
  });

  const data = () => fromBase64(entry.Value);

  function drawTop() {
    refill(top, panel(key,
      [copyCall(key, odd ? looked : { ...looked, parameters: { raw: true } }, odd ? null : ['kv', 'get', ...operands(key)]),
        button('Delete', remove, 'danger')],
      h('div', { class: 'inside' }, facts(
        ['Size', bytes(data().length)], ['Modified at index', entry.ModifyIndex], ['Created at index', entry.CreateIndex], ['Flags', entry.Flags],
        ['Times locked', entry.LockIndex || '0'],
        ['Locked by', entry.Session ? h('a', { class: 'id', href: to('sessions', entry.Session) }, shortId(entry.Session)) : 'no session'],
        entry.Session && ['Lock', h('a', { href: to('locks', 'key', key) }, 'Holder and queue')]))));
  }

  function drawValue() {
    const text = asText(data()), json = text === null ? null : asJson(text);
    const forms = [text !== null && 'Text', json !== null && 'JSON', 'Hex'].filter(Boolean);
    if (!forms.includes(form)) form = forms.includes('JSON') ? 'JSON' : forms[0];
    const shown = { Text: () => text, JSON: () => json, Hex: () => asHex(data()) }[form]();
    refill(body, panel('Value',
      [h('div', { class: 'tabs', role: 'group', 'aria-label': 'Format' },
        forms.map((f) => h('button', { type: 'button', 'aria-pressed': String(f === form), onclick: () => { form = f; drawValue(); } }, f))),
        h('button', { type: 'button', class: 'main', disabled: text === null, title: text === null ? 'Binary values cannot be edited here: use belay kv put -base64' : undefined, onclick: () => edit(text) }, 'Edit')],
      h('div', { class: 'inside' }, shown === '' ? h('p', { class: 'quiet' }, 'The value is empty.') : h('pre', { class: form === 'Hex' ? 'value hex' : 'value', tabindex: 0, role: 'region', 'aria-label': 'Value' }, shown))));
  }

  function edit(text) {
    editing = { index: entry.ModifyIndex, flags: entry.Flags };
    const value = h('textarea', { value: text, spellcheck: 'false', 'aria-label': `Value of ${key}` });
    const flags = h('input', { type: 'number', min: 0, value: entry.Flags });
    says.textContent = '';
    refill(body, panel('Edit',
      [button('Cancel', () => { editing = null; drawValue(); }), button('Save …', () => save(value.value, flags.value, editing.index), 'main')],
      h('div', { class: 'inside stack tight' }, value, h('div', { class: 'row' }, field('Flags', flags)), says)));
    value.focus();
  }

  function save(text, flags, index) {
    ask({
      title: `Save ${key}`, verb: 'Save',
      explain: h('p', {}, `The value is written only if the key has not changed since index ${index}.`),
      call: () => writeKey(key, text, index, Number.isSafeInteger(Number(flags)) ? Number(flags) : flags),
      belay: () => !odd && putWords(key, text, '-cas', `-modify-index=${index}`, ...(Number(flags) ? [`-flags=${flags}`] : [])),
      done: () => { editing = null; if (entry) drawValue(); },
      refused: (r) => { const conflict = Boolean(r.answer) || r.status === 409; if (conflict) showConflict(text, flags); return conflict; },
    });
  }

  async function showConflict(mine, flags) {
    let theirs = null;
    try {
      theirs = (await call(looked)).body[0];
    } catch (refused) {
      if (refused.status !== 404) { says.textContent = complaint(refused); return; }
    }
    const other = theirs ? asText(fromBase64(theirs.Value)) ?? asHex(fromBase64(theirs.Value)) : '';
    const [left, right] = differing(other, mine);
    const side = (title, lines) => h('section', {}, h('h3', {}, title),
      h('pre', { tabindex: 0, role: 'region', 'aria-label': title }, lines.map((l) => h('div', { class: l.differs ? 'differs' : undefined }, l.text || ' '))));
    const again = button('Overwrite with mine …', () => save(mine, flags, theirs ? theirs.ModifyIndex : 0), 'danger');
    announce('Another client changed the key: both values are shown');
    refill(body, panel('Conflict',
      [button('Discard mine', () => { editing = null; if (entry) drawValue(); else body.replaceChildren(); }),
        button('Edit mine', () => entry && (edit(mine), (editing.index = entry.ModifyIndex))), again],
      h('div', { class: 'inside stack tight' }, h('p', {}, 'Another client has changed the key since you began to edit. Nothing was written.'), h('div', { class: 'sides' },
        side(theirs ? `Current value, index ${theirs.ModifyIndex}` : 'Current value: deleted', left), side('Your value', right)))));
    again.focus();
  }

  function remove() {
    const index = entry.ModifyIndex;
    ask({
      title: `Delete ${key}`, verb: 'Delete', danger: true,
      explain: h('p', {}, `The key is deleted only if it has not changed since index ${index}.`, entry.Session && ` Session ${entry.Session} loses its lock.`),
      call: () => deleteKey(key, index),
      belay: () => !odd && ['kv', 'delete', '-cas', `-modify-index=${index}`, ...operands(key)],
    });
  }

  async function drawHistory() {
    let rows;
    if (odd) return refill(history, panel('History', null, empty('There is no history for a name with a part that is empty, “.” or “..”.')));
    try {
      rows = (await call(history_)).body;
    } catch (refused) {
      return refill(history, panel('History', null, empty(refused.status === 404 || refused.status === 410 ? forgotten : complaint(refused))));
    }
    refill(history, panel('History', copyCall(`History of ${key}`, history_, ['kv', 'history', ...operands(key)]),
      !rows.length ? empty(forgotten) : table('Changes, newest first', ['Index #', 'Change', 'Value', '(Actions)'],
        rows.slice(0, 50).map((r) => h('tr', { 'data-key': r.ID },
          h('th', { scope: 'row', class: 'number' }, r.Index), h('td', {}, r.Event === 'set' ? 'set' : tag(r.Event, 'warn')),
          h('td', { class: 'mono wrap' }, preview(r)),
          h('td', {}, h('div', { class: 'row end' }, r.Event === 'set' && entry && r.Index !== entry.ModifyIndex && button('Restore', () => revert(r))))))),
      rows.length > 50 && empty(`The newest 50 of ${count(rows.length)} changes are shown.`)));
  }

  function preview(r) {
    if (r.Event !== 'set') return '';
    const text = asText(fromBase64(r.Value));
    return text === null ? `${count(fromBase64(r.Value).length)} bytes` : text.length > 90 ? `${text.slice(0, 90)} …` : text;
  }

  function revert(r) {
    const index = entry.ModifyIndex;
    ask({
      title: `Restore ${key} from index ${r.Index}`, verb: 'Restore', explain: h('p', {}, `The value of index ${r.Index} is written only if the key has not changed since index ${index}.`),
      call: () => writeKey(key, fromBase64(r.Value), index, r.Flags),
      belay: () => ['kv', 'revert', `-to=${r.Index}`, ...operands(key)],
    });
  }

  return end;
}
