// Dialogs: show an action as a call, to be done here or copied.

import { call as send, complaint } from './api.js';
import { OddName, asBelay, asCurl } from './calls.js';
import { button, h, refill } from './dom.js';
import { token } from './session.js';
import { announce } from './announce.js';

const where = () => ({ origin: location.origin, withToken: Boolean(token()) });

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    announce('Copied');
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = button.dataset.name; }, 1500);
  } catch {
    // Without HTTPS a browser has no clipboard: the text is selected for the copy keys.
    const text = button.previousElementSibling;
    getSelection().selectAllChildren(text);
    announce('Text selected: copy it with the keyboard');
  }
}

const commandLine = (name, text) =>
  h('div', { class: 'command' },
    h('pre', { tabindex: 0, 'aria-label': name }, text),
    h('button', { type: 'button', 'data-name': `Copy as ${name}`, onclick: (e) => copy(text, e.currentTarget) }, `Copy as ${name}`));

/** The call as two lines to copy. `belay`: the words of that command, or null if there is none. */
function commands(of, belay) {
  const line = asBelay(belay, where());
  return h('div', { class: 'stack tight' }, commandLine('curl', asCurl(of, where())), line && commandLine('belay', line));
}

function open(dialog) {
  const before = document.activeElement;
  document.body.append(dialog);
  dialog.addEventListener('close', () => {
    dialog.remove();
    if (before?.isConnected) before.focus();
  });
  dialog.showModal();
  return dialog;
}

/** A button that shows how to repeat a read of the page elsewhere. `of` and `belay` may be functions, called on each press. */
export function copyCall(title, of, belay) {
  const now = (value) => (typeof value === 'function' ? value() : value);
  return button('Copy call', () => prepare(title, () => showCommands(title, now(of), now(belay))), 'plain');
}

/** Does the reads that a dialog needs first, and reports if they fail. */
export async function prepare(title, action) {
  try {
    await action();
  } catch (refused) {
    open(h('dialog', { 'aria-label': title }, h('form', { method: 'dialog' }, h('h2', {}, title), h('p', { class: 'error', role: 'alert' }, refused instanceof OddName ? refused.message : complaint(refused)),
      h('div', { class: 'row end' }, h('button', { autofocus: true }, 'Close')))));
  }
}

function showCommands(title, of, belay) {
  const form = h('form', { method: 'dialog' }, h('h2', {}, title), commands(of, belay),
    h('div', { class: 'row end' }, h('button', { autofocus: true }, 'Close')));
  open(h('dialog', { 'aria-label': title }, form));
}

/**
 * Asks, acts, and reports.
 * @param what { title, explain, inputs, verb, danger, call, belay, check, done }: `call()` is what
 * will be sent, read again after each input; `belay()` likewise; `check()` a text that says why not
 * yet, or nothing; `falseIsDone`: the answer false means done; `done(answer)` is called after it
 * was done
 * @returns the dialog
 */
export function ask(what) {
  const shown = h('div', {});
  const error = h('p', { class: 'error', role: 'alert' });
  const verb = h('button', { class: what.danger ? 'danger main' : 'main', type: 'submit' }, what.verb);
  const draw = () => {
    let missing = what.check?.(), of = null;
    try {
      if (!missing) of = what.call();
    } catch (odd) {
      if (!(odd instanceof OddName)) throw odd;
      missing = odd.message;
    }
    verb.disabled = Boolean(missing);
    refill(shown, missing ? h('p', { class: 'quiet' }, missing) : commands(of, what.belay?.() ?? null));
  };
  const form = h('form', {
    method: 'dialog',
    oninput: draw,
    onsubmit: async (e) => {
      e.preventDefault();
      verb.disabled = true;
      error.textContent = '';
      try {
        const answer = await send(what.call());
        if (answer.body === false && !what.falseIsDone) throw Object.assign(new Error(reason(answer)), { answer });
        dialog.close();
        announce(`${what.title}: done`);
        what.done?.(answer);
      } catch (refused) {
        if (what.refused?.(refused)) return dialog.close();
        error.textContent = refused.status ? complaint(refused) : refused instanceof TypeError ? 'No response: the change may or may not have been made. Check the current state before you try again.' : refused.message;
      }
      draw();
    },
  }, h('h2', {}, what.title), what.explain && h('div', {}, what.explain), what.inputs, shown, error,
  h('div', { class: 'row end' }, h('button', { type: 'button', autofocus: !what.inputs, onclick: () => dialog.close() }, 'Cancel'), verb));
  const dialog = h('dialog', { 'aria-label': what.title }, form);
  draw();
  return open(dialog);
}

function reason(answer) {
  const why = { held: 'another session holds the lock', index: 'it has changed in the meantime', 'lock-delay': 'the lock is in its lock delay', queued: 'other sessions wait for the lock' };
  const said = answer.headers.get('X-Belay-Reason');
  return `Not done: ${why[said] || said || 'the server returned false'}.`;
}
