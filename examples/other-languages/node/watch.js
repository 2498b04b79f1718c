// Every change below a prefix, each once and in order, until examples/watched/end is written.
const { Belay } = require("./belay");

const prefix = "examples/watched/";

async function main() {
  const server = new Belay();
  let place = (await server.changes(prefix)).headers["x-consul-index"];
  console.log("watching");
  for (let end = false; !end; ) {
    const answer = await server.changes(prefix, { index: place, wait: "60s" }).catch((error) => {
      if (error.statusCode !== 410) throw error;
      return server.changes(prefix, { snapshot: "" }); // too far behind: the keys as they are, then what follows
    });
    for (const change of answer.body) {
      const name = change.Key.split("/").pop();
      end ||= name === "end";
      console.log(change.Event, name, ...(change.Value ? [Buffer.from(change.Value, "base64").toString()] : []));
    }
    place = answer.headers["x-consul-index"]; // keep it, and go on there after a restart, at any server
  }
  server.destroy();
}

main();
