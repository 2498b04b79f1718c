// @logzio-node-toolbox/consul: configuration in JSON that is watched, and a service that is registered.
const assert = require("assert").strict;
const { Consul, MultiConsul } = require("@logzio-node-toolbox/consul");
const { host, port, address, run, eventually, put, sleep } = require("./cases");

const consul = new Consul({ host, port, baseUrl: "base" });

run({
  async connection() {
    await consul.validateConnected();
  },
  async keys() {
    await consul.set({ key: "app.json", value: { a: 1, deep: { b: 2 } } });
    assert.deepEqual((await consul.get("app.json")).value, { a: 1, deep: { b: 2 } });
    await consul.setString({ key: "text.json", value: '{"b":2}' });
    assert.deepEqual((await consul.get("text.json")).value, { b: 2 });
    assert.equal((await consul.get("none")), undefined);
    assert.equal((await consul.keys("")).length, 2);
  },
  async watch() {
    const seen = [];
    await consul.watch({ key: "app.json", onChange: ({ value }) => seen.push(value), onError: (error) => seen.push(error) });
    for (let a = 2; !seen.some((value) => value.a > 1); a++) { // it passes over the state that it finds first
      await consul.set({ key: "app.json", value: { a } });
      await sleep(200);
    }
  },
  async "several keys"() {
    const many = new MultiConsul({ host, port, paths: ["one", "two"] });
    await put("/v1/kv/one", { x: 1, y: 1 });
    await put("/v1/kv/two", { y: 2 });
    assert.deepEqual(await many.getAll(), { x: 1, y: 2 });
  },
  async registration() {
    const there = async () => "web-1" in (await (await fetch(`${address}/v1/agent/services`)).json());
    await consul.registerInterval({ data: { id: "web-1", name: "web", port: 80, meta: { zone: "a" } }, interval: 200, onError: () => {} });
    await eventually(there);
    await consul.close();
    await eventually(async () => !(await there()));
  },
});
