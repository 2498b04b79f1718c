// Formats numbers, times and values. Nothing here uses the page: tests/console/parts_test.py runs
// it.

export const count = (n) => Number(n).toLocaleString('en-US');

/** `n thing` or `n things`. */
export const counted = (n, noun, plural = noun + 's') => `${count(n)} ${n === 1 ? noun : plural}`;

/** Milliseconds in readable form: `850 ms`, `12 s`, `3 min 20 s`, `4 h 10 min`, `2 d 3 h`. */
export function duration(ms) {
  if (ms < 0) return '0 s';
  if (ms < 10) return `${Number(ms.toPrecision(2))} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${s} s`;
  const two = (big, unit, small, of) => (small ? `${big} ${unit} ${small} ${of}` : `${big} ${unit}`);
  if (s < 3600) return two(Math.floor(s / 60), 'min', s % 60, 's');
  if (s < 86400) return two(Math.floor(s / 3600), 'h', Math.floor((s % 3600) / 60), 'min');
  return two(Math.floor(s / 86400), 'd', Math.floor((s % 86400) / 3600), 'h');
}

/** A Go duration (`1m30s`, `250ms`) in milliseconds; NaN if it is none. */
export function goDuration(text) {
  const units = { h: 3600e3, m: 60e3, s: 1e3, ms: 1, us: 1e-3, 'µs': 1e-3, ns: 1e-6 };
  const parts = [...String(text).matchAll(/(\d+(?:\.\d+)?)(ms|us|µs|ns|h|m|s)/g)];
  if (parts.map((p) => p[0]).join('') !== String(text)) return text === '0' ? 0 : NaN;
  return parts.reduce((sum, [, n, unit]) => sum + Number(n) * units[unit], 0);
}

export function bytes(n) {
  if (n < 1024) return `${n} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let at = -1;
  do { n /= 1024; ++at; } while (n >= 1024 && at < units.length - 1);
  return `${n < 10 ? n.toFixed(1) : Math.round(n)} ${units[at]}`;
}

/** Three significant digits, with a prefix from a thousand on. */
export function figure(n) {
  if (!Number.isFinite(n)) return '–';
  if (Math.abs(n) >= 1e6) return `${(n / 1e6).toPrecision(3)} M`;
  if (Math.abs(n) >= 1e4) return `${(n / 1e3).toPrecision(3)} k`;
  return Number.isInteger(n) ? count(n) : String(Number(n.toPrecision(3)));
}

/** The first of an ID's groups, which distinguishes IDs of one list. */
export const shortId = (id) => (id && id.length === 36 ? id.slice(0, 8) : id || '');

// Control characters, and those that are invisible or change the direction of other text.
const unseenCharacters = /[\0-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** Whether it has such characters, apart from line breaks and tabs. */
export const unseen = (text) => String(text).replace(/[\n\t]/g, '').search(unseenCharacters) >= 0;

/** The text with such characters as `\n`, `\x1b` or `\u202e`. */
export const visible = (text) => String(text).replace(unseenCharacters, (c) => {
  const number = c.charCodeAt(0).toString(16);
  return { '\n': '\\n', '\t': '\\t' }[c] ?? (number.length <= 2 && c < '\x80' ? `\\x${number.padStart(2, '0')}` : `\\u${number.padStart(4, '0')}`);
});

/** The same, with line breaks as they are: for names, which could look like another one. */
export const shown = (text) => String(text).replace(/[^\n\r\t]+/g, visible);

// ---- values

export function fromBase64(text) {
  return Uint8Array.from(atob(text || ''), (c) => c.charCodeAt(0));
}

export function toBase64(data) {
  let text = '';
  for (let i = 0; i < data.length; i += 8192) text += String.fromCharCode(...data.subarray(i, i + 8192));
  return btoa(text);
}

/** The bytes as UTF-8 text; null if they are not, or contain control characters. */
export function asText(data) {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
    return /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text) ? null : text;
  } catch {
    return null;
  }
}

/** The JSON text with line breaks; keeps numbers and the order of members. null if it is not JSON. */
export function asJson(text) {
  try {
    if (text === null || typeof JSON.parse(text) !== 'object') return null;
  } catch {
    return null;
  }
  let out = '', depth = 0;
  const line = () => '\n' + '  '.repeat(depth);
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    if (token === '{' || token === '[') { depth += 1; out += token + line(); }
    else if (token === '}' || token === ']') { depth -= 1; out = out.replace(/\n *$/, '') + (/[{[]$/.test(out.trimEnd()) ? '' : line()) + token; }
    else if (token === ',') out += ',' + line();
    else if (token === ':') out += ': ';
    else out += token;
  }
  return out;
}

/** Like the output of `hexdump -C`. `limit`: number of bytes. */
export function asHex(data, limit = 65536) {
  const lines = [];
  const end = Math.min(data.length, limit);
  for (let at = 0; at < end; at += 16) {
    const part = [...data.subarray(at, Math.min(at + 16, end))];
    const hex = part.map((b, i) => b.toString(16).padStart(2, '0') + (i === 7 ? ' ' : '')).join(' ');
    const seen = part.map((b) => (b >= 0x20 && b < 0x7f ? String.fromCharCode(b) : '.')).join('');
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(49)} |${seen}|`);
  }
  if (end < data.length) lines.push(`… ${count(data.length - end)} more bytes`);
  return lines.join('\n');
}

/** Which lines of two texts are not in the other one, by their longest common subsequence: [{ text, differs }] of each. */
export function differing(left, right) {
  const a = left.split('\n'), b = right.split('\n');
  const tooMany = a.length * b.length > 1e6;
  if (tooMany) return [a, b].map((side) => side.map((text) => ({ text, differs: false })));
  const common = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; --i)
    for (let j = b.length - 1; j >= 0; --j)
      common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const out = [[], []];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out[0].push({ text: a[i++], differs: false });
      out[1].push({ text: b[j++], differs: false });
    } else if (j >= b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) out[0].push({ text: a[i++], differs: true });
    else out[1].push({ text: b[j++], differs: true });
  }
  return out;
}
