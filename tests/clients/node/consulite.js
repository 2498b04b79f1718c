// consulite: it finds the instances of services.
const assert = require("assert").strict;
const Consulite = require("consulite");
const { address, run, eventually, put, raise } = require("./cases");

const consulite = new Consulite({ consul: address });

run({
  async "names of services"() {
    for (const n of [1, 2]) await put("/v1/agent/service/register", { ID: `web-${n}`, Name: "web", Address: `127.0.0.${n}`, Port: 80 + n, Check: { TTL: "60s", Status: "passing" } });
    await eventually(async () => (await consulite.getServiceNames()).includes("web"));
  },
  async "status of instances"() {
    await put("/v1/agent/check/fail/service:web-2");
    await eventually(async () => (await consulite.getServiceStatus("web")).some((n) => n.status === "critical"));
    assert.deepEqual((await consulite.getServiceStatus("web")).map((n) => [n.node, n.address, n.port, n.status]).sort(),
      [["clients", "127.0.0.1", 81, "passing"], ["clients", "127.0.0.2", 82, "critical"]]);
  },
  async "healthy instances"() {
    assert.deepEqual(await consulite.refreshService("web"), [{ address: "127.0.0.1", port: 81 }]);
    assert.equal((await consulite.getService("web")).port, 81);
    assert.equal((await consulite.getServiceHosts("web")).length, 1);
  },
  async "a service that is not there"() {
    assert.match((await raise(() => consulite.getService("none"))).message, /couldn't be found/);
  },
});
