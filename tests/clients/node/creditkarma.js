// @creditkarma/consul-client: it sends `Host: consul` with every request.
const assert = require("assert").strict;
const { KvStore, Catalog } = require("@creditkarma/consul-client");
const { address, run, eventually, put } = require("./cases");

const store = new KvStore([address]);
const catalog = new Catalog([address]);

run({
  async keys() {
    assert.equal(await store.set({ path: "a/1" }, { text: "one" }), true);
    assert.deepEqual(await store.get({ path: "a/1" }), { text: "one" });
    assert.deepEqual(await store.get({ path: "a/1", dc: "dc1" }), { text: "one" });
    assert.equal(await store.get({ path: "none" }), null);
    assert.equal(await store.delete({ path: "a/1" }), true);
    assert.equal(await store.get({ path: "a/1" }), null);
  },
  async watch() {
    await store.set({ path: "watched" }, "1");
    const seen = [];
    store.watch({ path: "watched" }).onValue((value) => seen.push(value));
    await eventually(() => seen.includes("1"));
    await store.set({ path: "watched" }, "2");
    await eventually(() => seen.includes("2"));
    store.ignore("watched");
  },
  async catalog() {
    assert.deepEqual((await catalog.listNodes()).map((n) => n.Node), ["clients"]);
    assert.equal("consul" in (await catalog.listServices()), true);
    assert.equal(await catalog.registerEntity({ Node: "elsewhere", Address: "127.0.0.9", Service: { Service: "db", ID: "db-1", Address: "127.0.0.9", Port: 5432 } }), true);
    assert.deepEqual((await catalog.listNodesForService("db")).map((row) => row.Service.Port), [5432]);
    assert.equal(await catalog.resolveAddress("db"), "127.0.0.9:5432");
  },
  async "watch of an address"() {
    const seen = [];
    catalog.watchAddress("db").onValue((value) => seen.push(value));
    await eventually(() => seen.includes("127.0.0.9:5432"));
    await put("/v1/catalog/register", { Node: "elsewhere", Address: "127.0.0.9", Service: { Service: "db", ID: "db-1", Address: "127.0.0.9", Port: 5433 } });
    await eventually(() => seen.includes("127.0.0.9:5433"));
  },
});
