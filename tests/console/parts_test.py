"""The parts of the console that touch no page, each from its own file: values, commands, streams, trees of keys, circles."""
import functools
import http.server
import pathlib
import threading

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "console/page"

# Module, expression with `m` for it, what it has to be.
CASES = [
    ("format", "[m.duration(0.25), m.duration(850), m.duration(12_300), m.duration(200_000), m.duration(3600e3), m.duration(183_600e3), m.duration(-5)]",
     ["0.25 ms", "850 ms", "12 s", "3 min 20 s", "1 h", "2 d 3 h", "0 s"]),
    ("format", "[m.goDuration('1m30s'), m.goDuration('250ms'), m.goDuration('0'), m.goDuration('1.5h'), m.goDuration('27.5µs'), Number.isNaN(m.goDuration('never'))]",
     [90000, 250, 0, 5400000, 0.0275, True]),
    ("format", "[m.bytes(0), m.bytes(1023), m.bytes(1024), m.bytes(5 * 1024 * 1024), m.bytes(15_000)]", ["0 B", "1023 B", "1.0 KiB", "5.0 MiB", "15 KiB"]),
    ("format", "[m.figure(0), m.figure(1234), m.figure(12345), m.figure(1.23456), m.figure(2_500_000), m.figure(NaN)]", ["0", "1,234", "12.3 k", "1.23", "2.50 M", "–"]),
    ("format", "[m.counted(1, 'key'), m.counted(2000, 'key'), m.counted(2, 'entry', 'entries')]", ["1 key", "2,000 keys", "2 entries"]),
    ("format", "m.asText(m.fromBase64('w6TDtsO8'))", "äöü"),
    ("format", "[m.asText(new Uint8Array([255, 254])), m.asText(new Uint8Array([0, 1])), m.asText(new Uint8Array([]))]", [None, None, ""]),
    ("format", "m.toBase64(m.fromBase64('AAH/'))", "AAH/"),
    # Numbers stay what they were: 2^53 + 1 is not a number of JavaScript.
    ("format", r"""m.asJson('{"a":9007199254740993,"b":[1,{"c":"x, y: {z}"}],"d":{},"e":[]}')""",
     '{\n  "a": 9007199254740993,\n  "b": [\n    1,\n    {\n      "c": "x, y: {z}"\n    }\n  ],\n  "d": {},\n  "e": []\n}'),
    ("format", "[m.asJson('8080'), m.asJson('{'), m.asJson(null)]", [None, None, None]),
    ("format", "m.asHex(new Uint8Array([0x48, 0x69, 0, 0xff]))", "00000000  48 69 00 ff                                       |Hi..|"),
    ("format", "m.asHex(new Uint8Array(20), 16).split('\\n')[1]", "… 4 more bytes"),
    ("format", "m.differing('a\\nb\\nc', 'a\\nx\\nc').map((side) => side.filter((l) => l.differs).map((l) => l.text))", [["b"], ["x"]]),
    ("format", "m.differing('a', 'a\\nb')[1].map((l) => l.differs)", [False, True]),

    ("calls", "m.shellWord(\"it's\")", "'it'\\''s'"),
    ("calls", "[m.shellWord('a/b-c.d'), m.shellWord(''), m.shellWord('$(x)')]", ["a/b-c.d", "''", "'$(x)'"]),
    # A key of a terminal in a name stays a text, also when it is pasted; U+0003 would end the line, and what follows would run.
    ("calls", "[m.shellWord('a\\x03b'), m.shellWord(\"it's\\x1b[201~\\\\\"), m.shellWord('a\\nb'), m.shellWord('a\\n\\u202eb'), m.shellWord('\\x80')]",
     ["$'a\\x03b'", "$'it\\'s\\x1b[201~\\\\'", "'a\nb'", "$'a\\n\\u202eb'", "$'\\u0080'"]),
    ("calls", "m.target('/v1/kv/a', { cas: 0, raw: true, flags: undefined, dc: null, filter: 'a == \"b\"' })", "/v1/kv/a?cas=0&raw&filter=a%20%3D%3D%20%22b%22"),
    ("calls", "m.pathOf('a b/ü/?')", "a%20b/%C3%BC/%3F"),
    # A browser or a server makes other names of these.
    ("calls", "['a/../b', '..', '.', './a', 'a/.', 'a/..', 'a//b', '/a', '/', '//', 'a//', '../', 'zzz/../'].filter((n) => !m.isOdd(n))", []),
    ("calls", "['', 'a', 'a/', 'a/b', '...', 'a/.b', 'a..', '%2e%2e/x', '.a/', 'a/ /b'].filter(m.isOdd)", []),
    ("calls", "['a/../b', '/'].map((n) => { try { return m.pathOf(n); } catch (e) { return e instanceof m.OddName; } })", [True, True]),
    # Whatever is not odd is asked for as it is, by a browser.
    ("calls", "['a', 'a/', 'a/b', '...', 'a/.b', '%2e%2e/x', 'a b', 'a?b#c', 'a\\\\b', 'a/%2e%2e/b'].filter((n) => decodeURIComponent(new URL('http://h/v1/kv/' + m.pathOf(n)).pathname) !== '/v1/kv/' + n)", []),
    ("key_names", "['zzz/../prod/db', '..', '/a', 'a/b/./c', 'a//', '/', 'a/b', 'a/b/', ''].map(m.above)", ["zzz/", "", "", "a/b/", "a/", "", "a/", "a/b/", ""]),
    ("key_names", "[m.lookAtKey('a/b'), m.lookAtKey('a/../b')]",
     [{"path": "/v1/kv/a/b"}, {"path": "/v1/kv/a/", "parameters": {"recurse": True, "filter": 'Key == "a/../b"'}}]),
    ("key_names", "m.levelOf('a/../', ['a/', 'a/../', 'a/../x', 'a/../y/1', 'a/../y/2', 'a/b', 'a/..'])", ["a/../", "a/../x", "a/../y/"]),
    ("key_names", "[m.lookBelow('zzz/../', { separator: '/' }), m.lookBelow('a/', { separator: '/' })]",
     [{"path": "/v1/kv/zzz/", "parameters": {"keys": True}}, {"path": "/v1/kv/a/", "parameters": {"keys": True, "separator": "/"}}]),
    ("key_names", "[m.writeKey('a/..', 'v', 7, 0), m.deleteKey('/a', 8), m.deleteBelow('zzz/../')].map((c) => [c.method, c.path, c.body[0].KV])",
     [["PUT", "/v1/txn", {"Verb": "cas", "Key": "a/..", "Value": "dg==", "Flags": 0, "Index": 7}], ["PUT", "/v1/txn", {"Verb": "delete-cas", "Key": "/a", "Index": 8}],
      ["PUT", "/v1/txn", {"Verb": "delete-tree", "Key": "zzz/../"}]]),
    ("key_names", "[m.writeKey('a', 'v', 7, 3), m.deleteKey('a', 8), m.deleteBelow('a/')].map((c) => [c.method, c.path, c.parameters])",
     [["PUT", "/v1/kv/a", {"cas": 7, "flags": 3}], ["DELETE", "/v1/kv/a", {"cas": 8}], ["DELETE", "/v1/kv/a/", {"recurse": True}]]),
    ("places", "[m.to('keys', 'zzz/../prod/db'), m.read('#/keys/zzz/../prod/db').rest.join('/')]", ["#/keys/zzz/../prod/db", "zzz/../prod/db"]),
    ("calls", "m.asCurl({ method: 'PUT', path: '/v1/kv/a', parameters: { cas: 7 }, body: \"it's\" }, { origin: 'http://h:1', withToken: true })",
     "curl -sS -X PUT -H \"X-Consul-Token: $CONSUL_HTTP_TOKEN\" --data-binary 'it'\\''s' 'http://h:1/v1/kv/a?cas=7'"),
    ("calls", "m.asCurl({ path: '/v1/x', follows: true, headers: { Accept: 'text/event-stream' } }, { origin: 'http://h:1' })",
     "curl -sS -H 'Accept: text/event-stream' -N http://h:1/v1/x"),
    ("calls", "m.asCurl({ method: 'PUT', path: '/v1/kv/a', body: new Uint8Array([255]) }, { origin: 'http://h:1' })", "curl -sS -X PUT --data-binary @FILE http://h:1/v1/kv/a"),
    # curl reads a file for @NAME.
    ("calls", "m.asCurl({ method: 'PUT', path: '/v1/kv/a', body: '@/etc/passwd' }, { origin: 'http://h:1' })", "curl -sS -X PUT --data-raw @/etc/passwd http://h:1/v1/kv/a"),
    # A key with the name of an option would send the token to another server.
    ("calls", "[m.operands('a', 'b'), m.operands('-http-addr=http://h'), m.putWords('-http-addr=http://h', 'v', '-cas'), m.putWords('k', '-5')]",
     [["a", "b"], ["--", "-http-addr=http://h"], ["kv", "put", "-cas", "--", "-http-addr=http://h", "v"], ["kv", "put", "--", "k", "-5"]]),
    # Flags have 64 bits: saving a key, or releasing its lock, keeps them.
    ("answer", r"""m.parseJson('[{"Key":"\\"Flags\\":9007199254740993,","Flags":18446744073709551615},{"Flags": 9007199254740993, "Value":"x"},{"Flags":42}]').map((k) => [k.Key, k.Flags])""",
     [['"Flags":9007199254740993,', "18446744073709551615"], [None, "9007199254740993"], [None, 42]]),
    ("calls", "m.toJson([{ KV: { Value: '\"Flags\":\"9007199254740993\"', Flags: '9007199254740993' } }])", r'[{"KV":{"Value":"\"Flags\":\"9007199254740993\"","Flags":9007199254740993}}]'),
    ("calls", "[m.asBelay(['kv', 'put', '-cas', 'a', 'b c'], { origin: 'http://127.0.0.1:8500' }), m.asBelay(null, { origin: 'x' })]", ["belay kv put -cas a 'b c'", None]),
    ("calls", "m.asBelay(['kv', 'get', '-keys', 'a/'], { origin: 'https://h:8501' })", "BELAY_HTTP_ADDR=https://h:8501 belay kv get -keys a/"),
    ("calls", "[m.putWords('k', 'v', '-cas'), m.putWords('k', '@x'), m.putWords('k', '-')]", [["kv", "put", "-cas", "k", "v"], ["kv", "put", "-base64", "k", "QHg="], ["kv", "put", "-base64", "k", "LQ=="]]),

    # Cut at every byte, a stream tells the same.
    # A name cannot look like another one, nor turn the text after it around.
    ("format", "[m.shown('a\\u202eb/\\u200bc\\x1b'), m.shown('two\\nlines äöü … 日本')]", ["a\\u202eb/\\u200bc\\x1b", "two\nlines äöü … 日本"]),
    ("dom", "(() => { const e = m.h('b', { title: '\\u202e' }, 'x\\u202e'); return [e.textContent, e.getAttribute('title'), m.h('pre', {}, '\\u202e').textContent.length]; })()", ["x\\u202e", "\\u202e", 1]),
    ("sse", """(() => {
        const text = ': hello\\n\\nid: 7.0\\nevent: set\\ndata: {"Key":"a"}\\n\\nid: 8\\r\\nevent: progress\\r\\ndata: x\\r\\ndata: y\\r\\n\\r\\ndata: no end';
        const all = [];
        for (let cut = 0; cut <= text.length; ++cut) {
          const told = [];
          const r = new m.EventReader((e) => told.push([e.id, e.event, e.data].join('|')));
          r.take(text.slice(0, cut));
          r.take(text.slice(cut));
          all.push(told.join(';'));
        }
        return [...new Set(all)];
      })()""", ['7.0|set|{"Key":"a"};8|progress|x\ny']),

    ("claims", """m.resources([{ Claim: 'a', State: 'held', ID: '1' }, { Lock: 'a', State: 'waiting', ID: '2' }, { Claim: 'b', State: 'waiting', ID: '3' }, { Claim: 'b', State: 'waiting', ID: '4' }],
        [{ Key: 'a', Session: 's', ModifyIndex: 9 }]).map((r) => [r.space, r.name, r.holders.length, r.queue.length])""",
     [["claim", "b", 0, 2], ["key", "a", 1, 1], ["claim", "a", 1, 0]]),
    ("claims", "[...m.inCircles([['a', 'b'], ['b', 'c'], ['c', 'a'], ['d', 'a'], ['e', 'f']].map(([Session, Blocker]) => ({ Session, Blocker })))].sort()", ["a", "b", "c"]),
    ("claims", "[...m.inCircles([['a', 'b'], ['b', 'c']].map(([Session, Blocker]) => ({ Session, Blocker })))]", []),
    ("claims", "[...m.inCircles([{ Session: 'a', Blocker: 'a' }])]", ["a"]),
    # A queue of ten thousand is no circle, and no stack overflows.
    ("claims", "m.inCircles(Array.from({ length: 10_000 }, (_, i) => ({ Session: `s${i + 1}`, Blocker: `s${i}` }))).size", 0),
    ("claims", "(() => { const c = m.columns([['a', 'b'], ['b', 'c'], ['c', 'a'], ['d', 'c']].map(([Session, Blocker]) => ({ Session, Blocker }))); return [c.size, c.get('a').column < c.get('b').column, c.get('d').column < c.get('c').column]; })()",
     [4, True, True]),

    ("key_tree", """(() => {
        const t = new m.KeyTree();
        t.load('', ['z', 'app/']); t.load('app/', ['app/', 'app/b', 'app/x/']); t.open('app/');
        return t.rows().map((r) => [r.label, r.depth, r.folder, r.open, r.place, r.size]);
      })()""", [["app/", 0, True, True, 1, 2], ["app/ (key)", 1, False, False, 1, 3], ["b", 1, False, False, 2, 3], ["x/", 1, True, False, 3, 3], ["z", 0, False, False, 2, 2]]),
    ("key_tree", """(() => {
        const t = new m.KeyTree();
        t.load('', ['a/', 'k']); t.load('a/', ['a/b']); t.open('a/');
        const first = t.apply([{ Key: 'a/c', event: 'set' }, { Key: 'new/deep/key', event: 'set' }, { Key: 'k', event: 'delete' }, { Key: 'a/b', event: 'set' }]);
        const second = t.apply([{ Key: 'a/b', event: 'expired' }]);
        return [first, second, t.rows().map((r) => r.name)];
      })()""", [{"moved": True, "stale": []}, {"moved": True, "stale": [""]}, ["a/", "a/c", "new/"]]),
    ("key_tree", """(() => {
        const t = new m.KeyTree();
        t.load('', ['a/']); t.load('a/', []);
        t.apply([{ Key: 'a/', event: 'set' }, { Key: 'a/b/', event: 'set' }]);
        return t.level('a/');
      })()""", ["a/", "a/b/"]),
    # A level that leads back up is not shown, or it would be shown without end.
    ("key_tree", "(() => { const t = new m.KeyTree(); t.load('', ['app/']); t.load('app/', ['app/../', 'app/x']); t.load('app/../', ['app/', '']); ['app/', 'app/../'].forEach((p) => t.open(p)); return t.rows().map((r) => r.name); })()",
     ["app/", "app/../", "app/x"]),
    ("key_tree", "(() => { const t = new m.KeyTree(); t.load('', ['App', 'b/', 'cap']); return t.found('ap', 10).map((r) => r.name); })()", ["App", "cap"]),

    ("numbers", "m.valueOf({ Gauges: [{ Name: 'consul.raft.term', Value: 3 }] }, 'raft.term')", {"value": 3}),
    ("numbers", "m.valueOf({ Samples: [{ Name: 'c.http.request', Count: 2, Sum: 4, Max: 3, Rate: 0.4 }, { Name: 'c.http.request', Count: 2, Sum: 8, Max: 5, Rate: 0.8 }] }, 'http.request').mean", 3),
    ("numbers", "[m.valueOf({}, 'x') === undefined, m.perSecond({}, 'x'), m.perSecond({ Counters: [{ Name: 'x', Count: 20, Sum: 20, Max: 1, Rate: 2 }] }, 'x')]", [True, 0, 2]),
    ("numbers", "m.requestTimes({ Samples: [{ Name: 'c.http.request', Count: 2, Sum: 4, Max: 3, Labels: { route: 'kv' } }, { Name: 'c.http.request', Count: 1, Sum: 600, Max: 600, Labels: { route: 'blocking' } }] })", {"count": 2, "mean": 2, "max": 3, "rate": None}),
    ("numbers", "m.electionsIn([{ at: 1, term: 2 }, { at: 2 }, { at: 3, term: 4, leader: true }, { at: 4, term: 4 }, { at: 5, term: 5, leader: false }])", [{"at": 5, "term": 5, "leads": False}, {"at": 3, "term": 4, "leads": True}]),
    ("numbers", "(() => { const p = m.pointOf({ Time: 100, Requests: 2, RequestMs: 0, Term: 3 }, 10); return [p.at, p.requests, p.request === undefined, p.term]; })()", [110000, 2, True, 3]),
    ("numbers", """(() => {
        const s = new m.Series();
        s.add(60e3, { stamp: 'a', x: 3 });
        s.fill([{ at: 40e3, x: 1 }, { at: 50e3, x: 2 }, { at: 58e3, x: 9 }]);
        s.fill([{ at: 40e3, x: 1 }]);
        return s.line('x');
    })()""", [[40e3, 1], [50e3, 2], [60e3, 3]]),
    ("numbers", """(() => {
        const s = new m.Series();
        for (let i = 0; i < 500; ++i) s.add(i * 10_000, { stamp: `${i}`, a: i });
        s.add(4_990_000, { stamp: '499', a: 7 });
        return [s.points.length, s.line('a').length, s.line('b').length];
      })()""", [361, 361, 0]),
    ("numbers", "(() => { const points = [{ at: 1 }, { at: 10, applied: 100 }, { at: 20, applied: 200 }]; return [50, 100, 150, 200, 201].map((i) => m.timeOfIndex(points, i) ?? null); })()",
     [{"at": 10, "exactly": False}, {"at": 10, "exactly": False}, {"at": 20, "exactly": True}, {"at": 20, "exactly": True}, None]),
    # An answer that was late once is no reason to wait; three slow ones are. What is quick is asked for as often as the caller says.
    ("pace", """(() => {
        const told = [], p = new m.Pace();
        for (const ms of [60, 50, 40, 80, 2, 90, 90]) { p.took(ms); told.push([p.doubtful, p.pause(3000)]); }
        return told;
      })()""", [[True, 400], [True, 400], [False, 10000], [False, 10000], [False, 3000], [False, 3000], [False, 3000]]),
    ("pace", "(() => { const p = new m.Pace(); const first = [p.doubtful, p.pause(400)]; p.took(1); return [first, p.doubtful, p.pause(400), p.pause(3000)]; })()", [[False, 400], False, 400, 3000]),
    ("pace", "(() => { const p = new m.Pace(); p.took(60); p.took(0); return [p.doubtful, p.pause(400)]; })()", [False, 400]),

    ("plot", "m.parts([[0, 1], [10e3, 2], [40e3, 3], [70_001, 4]]).map((part) => part.length)", [3, 1]),
    ("plot", "[0, 0.07, 1, 1.2, 49, 50, 51, 999].map(m.niceMax)", [1, 0.1, 1, 2, 50, 50, 100, 1000]),
    ("places", "[m.read('#/locks/claim/a%20b/c'), m.to('keys', 'a b/c'), m.read('#/keys/%E0%A4%A'), m.read('')]",
     [{"view": "locks", "rest": ["claim", "a b", "c"]}, "#/keys/a%20b/c", {"view": "keys", "rest": ["%E0%A4%A"]}, {"view": "", "rest": []}]),
]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def run(page, check):
    """The server has them all in one file: they are taken from the source."""
    wrong = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=PAGE)) as files:
        threading.Thread(target=files.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{files.server_address[1]}/assets/"
        page.open(base + "mark.svg")
        for module, expression, wanted in CASES:
            got = page.run(f"import('{base}parts/{module}.js').then((m) => {expression})")
            if got != wanted:
                wrong.append(f"{module}: {expression}\n    is  {got!r}\n    not {wanted!r}")
        page.open("about:blank")
        files.shutdown()
    check(not wrong, f"{len(CASES)} cases of the parts" + "".join("\n  " + w for w in wrong))
