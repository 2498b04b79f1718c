// One of many candidates leads. SECONDS: how long it leads before it resigns.
// usage: node election.js NAME SECONDS
const { randomUUID } = require("crypto");
const { Belay, Session, sleep } = require("./belay");

const name = "examples/leader";
const mine = randomUUID();
const [me, term] = [process.argv[2], Number(process.argv[3])];

async function main() {
  const server = new Belay();
  const session = await Session.open(server, me);
  await server.claim(name, { kind: "election", session: session.id, id: mine }, me);

  // Sent once; from now on it is enough to watch the leader.
  let [index, leader] = ["1", undefined];
  while (!leader || leader.ID !== mine) {
    if (!session.safe()) throw new Error("the session has ended: start over");
    const answer = await server.claims(name, index);
    index = answer.headers["x-consul-index"];
    const [holder] = answer.body.Holders || [];
    if (holder && holder.ID !== mine && (!leader || leader.ID !== holder.ID)) {
      console.log(Buffer.from(holder.Value, "base64").toString(), "leads");
    }
    leader = holder;
  }

  console.log(`I lead, fence ${leader.Fence}`);
  const end = performance.now() + term * 1000;
  while (session.safe() && performance.now() < end) {
    await sleep(100); // the leader's work, in steps that are shorter than the TTL; each with the fence
  }

  await server.letGo(name, mine);
  await session.close();
  console.log("I have resigned");
}

main();
