package dunlin.load.page;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads the events of an open page. */
final class Events implements AutoCloseable {
  private final HttpClient client = HttpClient.newHttpClient();
  private final BufferedReader lines;

  /** One event. */
  record Event(String name, String id, Json data) {}

  /** @param lastEvent the Last-Event-ID header; null for none */
  Events(String url, @Nullable String lastEvent) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(url));
    if (lastEvent != null) request.header("Last-Event-ID", lastEvent);
    HttpResponse<java.io.InputStream> response = client.send(request.build(), BodyHandlers.ofInputStream());
    if (response.statusCode() != 200) throw new AssertionError("status " + response.statusCode());
    lines = new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8));
  }

  /** The next event, or null after the last one. */
  @Nullable Event next() throws IOException {
    String name = "";
    String id = "";
    Json data = Json.of("");
    for (String line; (line = lines.readLine()) != null; ) {
      if (line.isEmpty()) return new Event(name, id, data);
      if (line.startsWith("event: ")) name = line.substring("event: ".length());
      if (line.startsWith("id: ")) id = line.substring("id: ".length());
      if (line.startsWith("data: ")) data = Json.of(line.substring("data: ".length()));
    }
    return null;
  }

  /** The next event of one kind. */
  Event next(String kind) throws IOException {
    for (Event event; (event = next()) != null; ) if (event.name().equals(kind)) return event;
    throw new AssertionError("the events have ended without " + kind);
  }

  /** All remaining events. */
  List<Event> rest() throws IOException {
    var rest = new ArrayList<Event>();
    for (Event event; (event = next()) != null; ) rest.add(event);
    return rest;
  }

  @Override
  public void close() {
    client.shutdownNow();
  }
}
