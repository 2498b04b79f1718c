// Every change below a prefix, each once and in order, until examples/watched/end is written.
const { Belay } = require("./belay");

const prefix = "examples/watched/";
// With the history of the cluster, once all servers run 0.3.0.
const cursor = ({ headers }) => headers["x-belay-cursor"] || headers["x-consul-index"];

async function main() {
  const server = new Belay();
  let place = cursor(await server.changes(prefix));
  console.log("watching");
  for (let end = false; !end; ) {
    const answer = await server.changes(prefix, { index: place, wait: "60s" }).catch((error) => {
      if (error.statusCode !== 410) throw error;
      return server.changes(prefix, { snapshot: "" }); // too far behind, or the cluster was restored: the current keys, then the changes
    });
    for (const change of answer.body) {
      const name = change.Key.split("/").pop();
      end ||= name === "end";
      console.log(change.Event, name, ...(change.Value ? [Buffer.from(change.Value, "base64").toString()] : []));
    }
    place = cursor(answer); // store it, and resume there after a restart, at any server
  }
  server.destroy();
}

main();
