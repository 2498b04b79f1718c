// How soon something is asked for again. What the server needs long for is not asked for again at once: at most `share` of the time goes into
// it, however often it changes. One answer may be late because the machine or the network was busy, so only several of them show a cost.

const share = 0.004;
const answersForACost = 3;
export const pauseMs = 400;

export class Pace {
  #costs = [];

  /** @param ms what an answer that did not wait for a change took longer than the fastest of all answers */
  took(ms) {
    this.#costs = [ms, ...this.#costs].slice(0, answersForACost);
  }

  /** Whether the answers up to now were slow, and too few: the next question must not wait for a change, so that it tells more. */
  get doubtful() {
    return this.#costs.length < answersForACost && this.#pauseForCost() > pauseMs;
  }

  /** @param least ms @returns ms until the next question */
  pause(least) {
    return this.doubtful ? Math.min(least, pauseMs) : Math.max(least, this.#pauseForCost());
  }

  #pauseForCost() {
    return this.#costs.length ? Math.min(...this.#costs) / share : 0;
  }
}
