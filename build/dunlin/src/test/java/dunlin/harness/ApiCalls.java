package dunlin.harness;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dunlin.admin.AdminTokens;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Asks the admin API of a node, with its own token unless another one is given. */
public final class ApiCalls implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final Duration LEADERS_MOVE = Duration.ofMinutes(3);
  private static final int NO_LEADER = 503;

  private final HttpClient http = HttpClient.newHttpClient();
  private final String address;
  private final String token;

  /** @param text the body as it came */
  public record Answer(int status, String type, String text) {
    public JsonObject json() {
      return JsonParser.parseString(text).getAsJsonObject();
    }

    public String member(String name) {
      return present(name).getAsString();
    }

    private JsonElement present(String name) {
      JsonElement member = json().get(name);
      if (member == null) throw new AssertionError("no '" + name + "' in the answer " + status + ": " + text);
      return member;
    }

    public List<String> members(String name) {
      List<String> values = new ArrayList<>();
      for (JsonElement row : present("items").getAsJsonArray()) values.add(row.getAsJsonObject().get(name).getAsString());
      return values;
    }
  }

  private ApiCalls(String address, String token) {
    this.address = address;
    this.token = token;
  }

  public static ApiCalls of(Path dataDirectory) {
    try {
      List<String> lines = Files.readAllLines(dataDirectory.resolve(AdminTokens.ACCESS_FILE));
      return new ApiCalls(lines.getFirst(), lines.getLast());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public ApiCalls with(String other) {
    return new ApiCalls(address, other);
  }

  /** Where the page is. */
  public String address() {
    return address;
  }

  public String token() {
    return token;
  }

  public int port() {
    return URI.create(address).getPort();
  }

  public Answer get(String path) {
    return send("GET", path, null, "application/json");
  }

  /** What nodes of a cluster answer for a range that has a leader: it is asked for again while a node knows of none, as leaders may move at any time. */
  public Answer answered(String path) {
    Answer answer = await("while leaders may still move").atMost(LEADERS_MOVE).until(() -> get(path), asked -> asked.status() != NO_LEADER);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    return answer;
  }

  public Answer delete(String path) {
    return send("DELETE", path, null, "application/json");
  }

  public Answer post(String path, String body) {
    return send("POST", path, body, "application/json");
  }

  public Answer put(String path, String body) {
    return send("PUT", path, body, "application/json");
  }

  /** @param headers names and values in turn, which come in addition */
  public Answer send(String method, String path, String body, String type, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(address + "/api/v1" + path))
            .timeout(PATIENCE)
            .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
    if (!token.isEmpty()) request.header("Authorization", "Bearer " + token);
    if (body != null) request.header("Content-Type", type);
    for (int i = 0; i < headers.length; i += 2) request.header(headers[i], headers[i + 1]);
    try {
      HttpResponse<String> answer = http.send(request.build(), BodyHandlers.ofString());
      return new Answer(answer.statusCode(), answer.headers().firstValue("Content-Type").orElse(""), answer.body());
    } catch (IOException e) {
      throw new UncheckedIOException(method + " " + path, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  /** Opens a stream of events; of a refusal, its status and text are there as well. */
  public ApiEvents events(String path) {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(address + "/api/v1/events" + path)).header("Authorization", "Bearer " + token).header("Accept", "text/event-stream").build();
    try {
      return new ApiEvents(http.send(request, BodyHandlers.ofInputStream()));
    } catch (IOException e) {
      throw new UncheckedIOException(path, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  /** The value of a metric with a tag. */
  public static int metric(int port, String name, String tag) {
    var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/metrics")).build();
    try (HttpClient http = HttpClient.newHttpClient()) {
      return http.send(request, HttpResponse.BodyHandlers.ofString()).body().lines()
          .filter(line -> line.startsWith(name + "{") && line.contains(tag))
          .mapToInt(line -> (int) Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
          .sum();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  /** Ends streams that are open, too. */
  @Override
  public void close() {
    http.shutdownNow();
    http.close();
  }
}
