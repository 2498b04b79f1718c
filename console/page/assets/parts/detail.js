// Beside a list or a tree: what is chosen of it.

import { OddName } from './calls.js';
import { empty, h, panel } from './dom.js';

export class Detail {
  #end = null;
  chosen = '';
  element = h('div', {});

  /** @param hint what is told while nothing is chosen @param show called with the element and what is chosen; returns what ends it */
  constructor(hint, show) {
    this.hint = hint;
    this.show = show;
  }

  choose(what) {
    this.end();
    this.chosen = what;
    this.element.replaceChildren();
    if (what) this.#end = this.#shown(what);
    else this.element.append(panel('Nothing chosen', null, empty(this.hint)));
  }

  /** What cannot be asked for is said to be so, and nothing else is shown in its place. */
  #shown(what) {
    try {
      return this.show(this.element, what);
    } catch (odd) {
      if (!(odd instanceof OddName)) throw odd;
      this.element.replaceChildren(panel(what, null, empty(odd.message)));
      return null;
    }
  }

  end() {
    this.#end?.();
    this.#end = null;
  }
}
