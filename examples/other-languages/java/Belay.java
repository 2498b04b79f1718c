import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The few requests of these examples, with nothing but the JDK. */
final class Belay {
  private static final String ADDRESS = System.getenv().getOrDefault("CONSUL_HTTP_ADDR", "127.0.0.1:8500");
  private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  static HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create("http://" + ADDRESS + "/v1" + path));
  }

  /** @throws IOException if there is no response within 90 s, and for statuses of 400 and above except 404 */
  HttpResponse<String> ask(String method, String path, String body) throws IOException, InterruptedException {
    HttpRequest request = request(path).timeout(Duration.ofSeconds(90)).method(method, BodyPublishers.ofString(body)).build();
    HttpResponse<String> answer = http.send(request, BodyHandlers.ofString());
    if (answer.statusCode() >= 400 && answer.statusCode() != 404) {
      throw new IOException(answer.statusCode() + " " + answer.body());
    }
    return answer;
  }

  HttpClient http() {
    return http;
  }

  static String query(String... pairs) {
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < pairs.length; i += 2) {
      out.append(i == 0 ? '?' : '&').append(pairs[i]).append('=').append(URLEncoder.encode(pairs[i + 1], StandardCharsets.UTF_8));
    }
    return out.toString();
  }

  /** The first member of that name, or null. Enough for responses without quotes in their texts; use your JSON library. */
  static String member(String json, String name) {
    Matcher found = Pattern.compile("\"" + name + "\": *(?:\"([^\"]*)\"|([^,}\\s]+))").matcher(json);
    return !found.find() ? null : found.group(1) != null ? found.group(1) : found.group(2);
  }

  static String decoded(String base64) {
    return base64.equals("null") ? "" : new String(Base64.getDecoder().decode(base64), StandardCharsets.UTF_8);
  }

  /** Renewed by a thread of its own until it is closed. One session holds everything. */
  static final class Session implements AutoCloseable {
    private static final long TTL = TimeUnit.SECONDS.toNanos(15);
    private final Belay server;
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private volatile long safeUntil;
    final String id;

    Session(Belay server, String name) throws IOException, InterruptedException {
      this.server = server;
      long asked = System.nanoTime();
      String body = "{\"Name\":\"" + name + "\",\"TTL\":\"15s\",\"NodeChecks\":[]}";
      id = member(server.ask("PUT", "/session/create", body).body(), "ID");
      safeUntil = asked + TTL; // from the request on, not from the response
      timer.scheduleAtFixedRate(this::renew, TTL / 3, TTL / 3, TimeUnit.NANOSECONDS);
    }

    private void renew() {
      long asked = System.nanoTime();
      try {
        boolean there = server.ask("PUT", "/session/renew/" + id, "").statusCode() == 200;
        safeUntil = there ? asked + TTL : asked;
      } catch (IOException | InterruptedException e) {
        // No response, or no leader just now: the time runs on.
      }
    }

    /** No other client has what this session holds. Check before each step that must run only once. */
    boolean safe() {
      return System.nanoTime() - safeUntil < 0;
    }

    @Override
    public void close() throws IOException {
      timer.shutdownNow();
      try {
        server.ask("PUT", "/session/destroy/" + id, "");
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt(); // it ends by its TTL
      }
    }
  }
}
