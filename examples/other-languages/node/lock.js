// One process at a time counts. Waiting processes are served in the order of their requests.
const { randomUUID } = require("crypto");
const { Belay, Session, sleep } = require("./belay");

const name = "examples/count-lock";
const mine = randomUUID(); // a retry with it is the same claim, and keeps its position

async function main() {
  const server = new Belay();
  const session = await Session.open(server, "counting");

  let got = {};
  while (got.State !== "held") {
    try {
      got = (await server.claim(name, { session: session.id, id: mine, wait: "30s" })).body;
    } catch (error) {
      if (error.statusCode && error.statusCode < 500) throw error;
      await sleep(1000); // no response, or no leader just now
    }
  }

  try {
    const row = await server.kv.get("examples/count");
    const count = row ? Number(row.Value) + 1 : 1;
    await server.putFenced("examples/count", String(count), name, got.Fence); // 409 if another client has the lock by now
    console.log(`count ${count}, fence ${got.Fence}`);
  } finally {
    await server.letGo(name, mine); // first this: then no client waits for a lock delay
    await session.close();
  }
}

main();
