import java.io.IOException;
import java.util.UUID;

/** One process at a time counts. Waiting processes are served in the order of their requests. */
final class Lock {
  private static final String NAME = "examples/count-lock";

  public static void main(String[] arguments) throws Exception {
    Belay server = new Belay();
    String mine = UUID.randomUUID().toString(); // a retry with it is the same claim, and keeps its position
    try (Belay.Session session = new Belay.Session(server, "counting")) {
      String fence = null;
      while (fence == null) {
        try {
          String got = server.ask("PUT", "/claim/" + NAME + Belay.query("session", session.id, "id", mine, "wait", "30s"), "").body();
          if ("held".equals(Belay.member(got, "State"))) {
            fence = Belay.member(got, "Fence");
          }
        } catch (IOException e) {
          if (!session.safe()) {
            throw e;
          }
          Thread.sleep(1000); // no response, or no leader just now
        }
      }
      try {
        String row = server.ask("GET", "/kv/examples/count", "").body();
        int count = row.isEmpty() ? 1 : Integer.parseInt(Belay.decoded(Belay.member(row, "Value"))) + 1;
        // 409 if another client has the lock by now.
        server.ask("PUT", "/kv/examples/count" + Belay.query("fence", fence, "claim", NAME), Integer.toString(count));
        System.out.println("count " + count + ", fence " + fence);
      } finally {
        server.ask("DELETE", "/claim/" + NAME + Belay.query("id", mine), ""); // first this: then no client waits for a lock delay
      }
    }
  }
}
