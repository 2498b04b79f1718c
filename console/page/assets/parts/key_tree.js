// The tree of keys as far as it was loaded. Levels are loaded when they are opened, and changes
// update loaded ones. Nothing here uses the page: tests/console/parts_test.py runs it.

export const isFolder = (name) => name.endsWith('/');

/** The position of `name` in the sorted list, or where to insert it. */
function placeIn(names, name) {
  let low = 0, high = names.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (names[middle] < name) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class KeyTree {
  #levels = new Map(); // prefix -> names below it, sorted; folders end with a slash
  #open = new Set();

  has(prefix) { return this.#levels.has(prefix); }
  isOpen(prefix) { return this.#open.has(prefix); }
  level(prefix) { return this.#levels.get(prefix) || []; }

  /** Leaves out names that are not below the prefix: a level that leads back up has no end. */
  load(prefix, names) { this.#levels.set(prefix, names.filter((name) => name.startsWith(prefix)).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))); }
  open(prefix) { this.#open.add(prefix); }
  close(prefix) { this.#open.delete(prefix); }

  /** Rows from top to bottom: { name, label, depth, folder, open, size, place }. */
  rows() {
    const out = [];
    const add = (prefix, depth) => {
      const names = this.level(prefix);
      for (let i = 0; i < names.length; ++i) {
        const name = names[i];
        const folder = isFolder(name) && name !== prefix;
        const open = folder && this.#open.has(name);
        out.push({ name, label: name === prefix ? `${name} (key)` : name.slice(prefix.length), depth, folder, open, size: names.length, place: i + 1 });
        if (open && this.#levels.has(name)) add(name, depth + 1);
      }
    };
    add('', 0);
    return out;
  }

  /** Loaded names that contain the text, as rows of one level. */
  found(text, limit) {
    const out = [];
    const wanted = text.toLowerCase();
    for (const [prefix, names] of this.#levels)
      for (const name of names) {
        if (!name.toLowerCase().includes(wanted)) continue;
        out.push({ name, label: name, depth: 0, folder: isFolder(name) && name !== prefix, open: false });
        if (out.length >= limit) return out;
      }
    return out;
  }

  /**
   * @param changes [{ Key, event }]
   * @returns { moved: whether rows are different, stale: prefixes whose level must be loaded again,
   * because a key below one of its folders is gone }
   */
  apply(changes) {
    let moved = false;
    const stale = new Set();
    for (const { Key: key, event } of changes)
      for (let at = 0; at !== -1; ) {
        const prefix = key.slice(0, at);
        const names = this.#levels.get(prefix);
        const slash = key.indexOf('/', at);
        const name = slash < 0 || slash === key.length - 1 && at === key.length ? key : key.slice(0, slash + 1);
        if (names && (key.length > prefix.length || key === prefix)) {
          const place = placeIn(names, name);
          const there = names[place] === name;
          const folder = isFolder(name) && name !== prefix;
          if (event === 'set' && !there) { names.splice(place, 0, name); moved = true; }
          else if (event !== 'set' && there && folder) stale.add(prefix);
          else if (event !== 'set' && there) { names.splice(place, 1); moved = true; }
        }
        at = slash < 0 || at === key.length ? -1 : slash + 1;
      }
    return { moved, stale: [...stale] };
  }
}
