package dunlin.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;

/** Reads counters of a node as its operators do. */
public final class Counted {
  private Counted() {}

  /**
   * The value of a counter.
   *
   * @param labels as the metrics have them, each with its value in quotes
   */
  public static long of(ApiCalls api, String name, List<String> labels) {
    try (var http = HttpClient.newHttpClient()) {
      String text = http.send(HttpRequest.newBuilder(URI.create(api.address() + "/metrics")).build(), BodyHandlers.ofString()).body();
      String line = text.lines().filter(each -> each.startsWith(name + "{") && labels.stream().allMatch(each::contains)).findFirst().orElseThrow();
      return (long) Double.parseDouble(line.substring(line.lastIndexOf(' ')));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
