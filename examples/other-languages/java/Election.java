import java.net.http.HttpResponse;
import java.util.UUID;

/** One of many candidates leads. Arguments: NAME SECONDS (how long it leads before it resigns). */
final class Election {
  private static final String CLAIM = "/claim/examples/leader";

  public static void main(String[] arguments) throws Exception {
    String me = arguments[0];
    double term = Double.parseDouble(arguments[1]);
    Belay server = new Belay();
    String mine = UUID.randomUUID().toString();
    try (Belay.Session session = new Belay.Session(server, me)) {
      server.ask("PUT", CLAIM + Belay.query("kind", "election", "session", session.id, "id", mine), me);

      // Sent once; from now on it is enough to watch the leader.
      String index = "1";
      String leader = null;
      String fence = null;
      while (!mine.equals(leader)) {
        if (!session.safe()) {
          throw new IllegalStateException("the session has ended: start over");
        }
        HttpResponse<String> seen = server.ask("GET", CLAIM + Belay.query("index", index, "wait", "10s"), "");
        index = seen.headers().firstValue("X-Consul-Index").orElse("1");
        String holders = seen.body().replaceFirst("(?s)\"QueueLength\".*", "");
        String holder = Belay.member(holders, "ID");
        if (holder != null && !holder.equals(mine) && !holder.equals(leader)) {
          System.out.println(Belay.decoded(Belay.member(holders, "Value")) + " leads");
        }
        leader = holder;
        fence = Belay.member(holders, "Fence");
      }

      System.out.println("I lead, fence " + fence);
      long end = System.nanoTime() + (long) (term * 1e9);
      while (session.safe() && System.nanoTime() - end < 0) {
        Thread.sleep(100); // the leader's work, in steps that are shorter than the TTL; each with the fence
      }
      server.ask("DELETE", CLAIM + Belay.query("id", mine), "");
    }
    System.out.println("I have resigned");
  }
}
