// How soon to repeat a request. Slow requests are not repeated at once: they take at most `share`
// of the time, however often the response changes. One response may be late because the machine or
// the network is busy, so only several of them show a cost.

const share = 0.004;
const answersForACost = 3;
export const pauseMs = 400;

export class Pace {
  #costs = [];

  /** @param ms how much longer than the fastest of all a response took that did not wait for a change */
  took(ms) {
    this.#costs = [ms, ...this.#costs].slice(0, answersForACost);
  }

  /** Whether the responses so far were slow, and too few: the next request must not wait for a change, so that it shows more. */
  get doubtful() {
    return this.#costs.length < answersForACost && this.#pauseForCost() > pauseMs;
  }

  /** @param least ms @returns ms until the next request */
  pause(least) {
    return this.doubtful ? Math.min(least, pauseMs) : Math.max(least, this.#pauseForCost());
  }

  #pauseForCost() {
    return this.#costs.length ? Math.min(...this.#costs) / share : 0;
  }
}
