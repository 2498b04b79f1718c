// The selection, beside a list or a tree.

import { OddName } from './calls.js';
import { empty, h, panel } from './dom.js';

export class Detail {
  #end = null;
  chosen = '';
  element = h('div', {});

  /** @param hint text without a selection @param show called with the element and the selection; returns a function that ends it */
  constructor(hint, show) {
    this.hint = hint;
    this.show = show;
  }

  choose(what) {
    this.end();
    this.chosen = what;
    this.element.replaceChildren();
    this.element.style.minHeight = '';
    if (what) {
      this.#end = this.#shown(what);
      // On a narrow screen it is below the list. It is empty until the first response.
      if (this.element.getBoundingClientRect().top > innerHeight * 0.6) {
        this.element.style.minHeight = '90vh';
        this.element.scrollIntoView({ block: 'start' });
      }
    } else this.element.append(panel('Nothing selected', null, empty(this.hint)));
  }

  /** Shows an error if the selection cannot be requested, and nothing else in its place. */
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
