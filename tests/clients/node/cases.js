// What the drivers of this folder print: a line for each case, and `done` at the end.
const [host, port] = process.env.CONSUL_HTTP_ADDR.split(":");
const address = `http://${host}:${port}`;

async function run(cases) {
  for (const [name, body] of Object.entries(cases)) {
    try {
      await Promise.race([body(), sleep(30000).then(() => { throw new Error("no end within 30 s"); })]);
      console.log(`ok ${name}`);
    } catch (error) {
      console.log(`FAILED ${name}: ${String(error.stack || error).replace(/\n\s*/g, " ").slice(0, 400)}`);
    }
  }
  console.log("done");
  process.exit(0); // clients keep watches open
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function eventually(condition) {
  for (let i = 0; i < 400; i++) {
    if (await condition()) return;
    await sleep(50);
  }
  throw new Error("not within 20 s");
}

// A request of our own, where a client has no method for what a case needs.
const put = (path, body) => fetch(address + path, { method: "PUT", body: body === undefined ? "" : JSON.stringify(body) });

const raise = async (call) => {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error("no error");
};

module.exports = { host, port: Number(port), address, run, sleep, eventually, put, raise };
