// The npm package `consul`: keys, watches, sessions, services, checks, catalog, events, transactions.
const assert = require("assert").strict;
const Consul = require("consul");
const { host, port, run, eventually, raise } = require("./cases");

const consul = new Consul({ host, port });

run({
  async keys() {
    assert.equal(await consul.kv.set({ key: "a/1", value: "one", flags: 7 }), true);
    assert.equal(await consul.kv.set("a/2", Buffer.from([0, 255])), true);
    const row = await consul.kv.get("a/1");
    assert.deepEqual([row.Value, row.Flags, row.LockIndex], ["one", 7, 0]);
    assert.deepEqual((await consul.kv.get({ key: "a/2", buffer: true })).Value, Buffer.from([0, 255]));
    assert.deepEqual(await consul.kv.keys("a/"), ["a/1", "a/2"]);
    assert.equal((await consul.kv.get({ key: "a/", recurse: true })).length, 2);
    assert.equal(await consul.kv.get({ key: "a/1", raw: true }).then(String), "one");
    assert.equal(await consul.kv.get("none"), undefined);
    await consul.kv.del({ key: "a/", recurse: true });
    assert.equal(await consul.kv.get("a/1"), undefined);
  },
  async "check-and-set"() {
    assert.equal(await consul.kv.set({ key: "cas", value: "1", cas: "0" }), true);
    assert.ok(!(await consul.kv.set({ key: "cas", value: "2", cas: "0" })));
    const row = await consul.kv.get("cas");
    assert.equal(await consul.kv.set({ key: "cas", value: "3", cas: row.ModifyIndex }), true);
    assert.ok(!(await consul.kv.del({ key: "cas", cas: row.ModifyIndex })));
  },
  async watch() {
    const watch = consul.watch({ method: consul.kv.get, options: { key: "watched", wait: "5s" }, backoffFactor: 50 });
    const seen = [];
    watch.on("change", (row) => seen.push(row && row.Value));
    await eventually(() => seen.length === 1);
    for (const value of ["1", "2"]) {
      await consul.kv.set("watched", value);
      await eventually(() => seen[seen.length - 1] === value);
    }
    watch.end();
  },
  async "sessions and locks"() {
    const mine = (await consul.session.create({ name: "mine", ttl: "20s", lockdelay: "0s" })).ID;
    const other = (await consul.session.create({ name: "other", behavior: "delete", lockdelay: "1s" })).ID;
    assert.equal(await consul.kv.set({ key: "lock", value: "me", acquire: mine }), true);
    assert.ok(!(await consul.kv.set({ key: "lock", value: "you", acquire: other })));
    assert.equal((await consul.kv.get("lock")).Session, mine);
    assert.equal((await consul.session.renew(mine))[0].ID, mine);
    assert.equal((await consul.session.get(mine)).Name, "mine");
    assert.equal((await consul.session.list()).length, 2);
    assert.equal((await consul.session.node("clients")).length, 2);
    await consul.session.destroy(mine);
    await eventually(() => consul.kv.set({ key: "lock", value: "you", acquire: other }));
    await consul.session.destroy(other);
    assert.equal(await consul.kv.get("lock"), undefined);
    assert.equal((await raise(() => consul.session.renew(mine))).statusCode, 404);
  },
  async "services and checks"() {
    await consul.agent.service.register({ name: "web", id: "web-1", tags: ["v1"], address: "127.0.0.2", port: 80, meta: { zone: "a" }, check: { ttl: "20s", notes: "n" } });
    assert.deepEqual((await consul.agent.service.list())["web-1"].Tags, ["v1"]);
    await consul.agent.check.pass({ id: "service:web-1", note: "fine" });
    await eventually(async () => (await consul.health.service({ service: "web", passing: true })).length === 1);
    await consul.agent.check.warn("service:web-1");
    await eventually(async () => (await consul.health.checks("web"))[0].Status === "warning");
    await consul.agent.check.fail("service:web-1");
    await eventually(async () => (await consul.health.state("critical")).length === 1);
    await consul.agent.service.maintenance({ id: "web-1", enable: true, reason: "repair" });
    await eventually(async () => (await consul.health.checks("web")).length === 2);
    await consul.agent.service.maintenance({ id: "web-1", enable: false });
    await consul.agent.check.register({ name: "port", tcp: `${host}:${port}`, interval: "1s", timeout: "1s" });
    await eventually(async () => (await consul.agent.check.list()).port.Status === "passing");
    await consul.agent.check.deregister("port");
    await consul.agent.service.deregister("web-1");
    await eventually(async () => (await consul.catalog.service.nodes("web")).length === 0);
    assert.equal((await raise(() => consul.agent.check.pass("none"))).statusCode >= 400, true);
  },
  async catalog() {
    assert.deepEqual(await consul.catalog.datacenters(), ["dc1"]);
    assert.deepEqual((await consul.catalog.node.list()).map((n) => n.Node), ["clients"]);
    assert.equal("consul" in (await consul.catalog.service.list()), true);
    assert.equal((await consul.catalog.node.services("clients")).Node.Node, "clients");
    assert.equal((await consul.health.node("clients"))[0].CheckID, "serfHealth");
  },
  async transaction() {
    const done = await consul.transaction.create([{ KV: { Verb: "set", Key: "t", Value: "dA==" } }, { KV: { Verb: "get", Key: "t" } }]);
    assert.deepEqual(done.Results.map((r) => r.KV.Key), ["t", "t"]);
    assert.equal((await raise(() => consul.transaction.create([{ KV: { Verb: "cas", Key: "t", Value: "dA==", Index: 1 } }]))).statusCode, 409);
  },
  async events() {
    const fired = await consul.event.fire({ name: "deploy", payload: "now" });
    assert.equal(fired.Name, "deploy");
    await eventually(async () => (await consul.event.list("deploy")).some((e) => e.ID === fired.ID && e.Payload === "now"));
  },
  async "agent and status"() {
    assert.equal((await consul.agent.self()).Config.NodeName, "clients");
    assert.equal((await consul.agent.members()).length, 1);
    assert.equal((await consul.status.peers()).length, 1);
    assert.equal(typeof (await consul.status.leader()), "string");
    await consul.agent.maintenance({ enable: true, reason: "repair" });
    await consul.agent.maintenance(false);
  },
});
