// Parses server-sent events from pieces of a stream. Nothing here uses the page:
// tests/console/parts_test.py runs it.

/** Takes text as it arrives, and calls `tell({ id, event, data })` for each complete event. Ignores comments. */
export class EventReader {
  #rest = '';
  #event = { id: undefined, event: 'message', data: '' };

  constructor(tell) {
    this.tell = tell;
  }

  take(text) {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop();
    for (const line of lines) this.#line(line.endsWith('\r') ? line.slice(0, -1) : line);
  }

  #line(line) {
    if (line === '') {
      if (this.#event.data !== '' || this.#event.id !== undefined) this.tell(this.#event);
      this.#event = { id: undefined, event: 'message', data: '' };
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'id') this.#event.id = value;
    else if (name === 'event') this.#event.event = value;
    else if (name === 'data') this.#event.data += (this.#event.data && '\n') + value;
  }
}
