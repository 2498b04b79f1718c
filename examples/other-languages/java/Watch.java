import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Iterator;
import java.util.stream.Stream;

/** Every change below a prefix, each once and in order, as a stream, until examples/watched/end is written. */
final class Watch {
  private static String last; // store it, and resume there after a restart, at any server

  public static void main(String[] arguments) throws Exception {
    Belay server = new Belay();
    boolean end = false;
    while (!end) {
      HttpRequest.Builder request = Belay.request("/kv/examples/watched/?recurse&changes").header("Accept", "text/event-stream");
      if (last != null) {
        request.header("Last-Event-ID", last);
      }
      try {
        HttpResponse<Stream<String>> answer = server.http().send(request.build(), BodyHandlers.ofLines());
        if (answer.statusCode() != 200) {
          throw new IOException("status " + answer.statusCode());
        }
        try (Stream<String> lines = answer.body()) {
          end = follow(lines.iterator());
        }
      } catch (IOException | UncheckedIOException e) {
        Thread.sleep(1000); // disconnected: it resumes after the last one
      }
    }
    System.exit(0);
  }

  private static boolean follow(Iterator<String> lines) {
    String id = last;
    String event = "";
    while (lines.hasNext()) {
      String line = lines.next();
      if (line.startsWith("id: ")) {
        id = line.substring(4);
      } else if (line.startsWith("event: ")) {
        event = line.substring(7);
      } else if (line.startsWith("data: ") && Belay.member(line, "Key") != null) {
        String name = Belay.member(line, "Key").replaceFirst(".*/", "");
        System.out.println((event + " " + name + " " + Belay.decoded(Belay.member(line, "Value"))).stripTrailing());
        if (name.equals("end")) {
          return true;
        }
      } else if (line.isEmpty()) { // the end of an event: one that is cut off is sent again
        if (last == null && id != null) {
          System.out.println("watching");
        }
        last = id;
      }
    }
    return false;
  }
}
