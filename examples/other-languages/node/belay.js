// The npm package `consul`, with the requests that Consul lacks, and a session that renews itself.
const Consul = require("consul");

const TTL = 15; // seconds; 10 and more, unless the server is configured otherwise

class Belay extends Consul {
  constructor() {
    const [host, port] = (process.env.CONSUL_HTTP_ADDR || "127.0.0.1:8500").split(":");
    super({ host, port });
  }

  // Each returns the response: statusCode, headers, body. Throws for statuses of 400 and above.
  claim(name, query, value = "") {
    return this._put({ path: "/claim/" + name, query, body: value, type: "text" });
  }
  letGo(name, id) {
    return this._delete({ path: "/claim/" + name, query: { id } });
  }
  claims(name, index) {
    return this._get({ path: "/claim/" + name, query: { index, wait: "10s" } });
  }
  putFenced(key, value, claim, fence) {
    return this._put({ path: "/kv/" + key, query: { claim, fence }, body: value, type: "text" });
  }
  changes(prefix, query) {
    return this._get({ path: "/kv/" + prefix, query: { recurse: "", changes: "", ...query } });
  }
}

class Session {
  static async open(server, name) {
    const session = new Session();
    const asked = performance.now();
    session.server = server;
    session.id = (await server.session.create({ name, ttl: TTL + "s", checks: [] })).ID;
    session.safeUntil = asked + TTL * 1000; // from the request on, not from the response
    session.timer = setInterval(() => session.renew(), (TTL * 1000) / 3);
    return session;
  }

  async renew() {
    const asked = performance.now();
    try {
      await this.server.session.renew(this.id);
      this.safeUntil = asked + TTL * 1000;
    } catch (error) {
      if (error.statusCode === 404) this.safeUntil = 0; // it has ended
    } // else no response, or no leader just now: the time runs on
  }

  // No other client has what this session holds. Check before each step that must run only once.
  safe() {
    return performance.now() < this.safeUntil;
  }

  async close() {
    clearInterval(this.timer);
    await this.server.session.destroy(this.id);
    this.server.destroy(); // its connections
  }
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

module.exports = { Belay, Session, sleep };
