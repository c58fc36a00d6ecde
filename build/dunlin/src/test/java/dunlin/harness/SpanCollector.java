package dunlin.harness;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/** Takes spans as a collector of OpenTelemetry does, by OTLP over HTTP in its JSON form; it can be made to refuse them. */
public final class SpanCollector implements AutoCloseable {
  private final List<Span> spans = new CopyOnWriteArrayList<>();
  private final WebService service = new WebService(this::take);
  private volatile String authorization = "";
  private volatile boolean refuses;

  /**
   * A span that was taken.
   *
   * @param node that has sent it
   * @param attributes numbers as texts
   */
  public record Span(String node, String traceId, String spanId, String parentId, String name, long beginNanos, long endNanos, Map<String, String> attributes, boolean failed) {
    static Span of(String node, JsonObject span) {
      Map<String, String> attributes = attributesOf(span);
      return new Span(
          node, text(span, "traceId"), text(span, "spanId"), text(span, "parentSpanId"), text(span, "name"), Long.parseLong(text(span, "startTimeUnixNano")),
          Long.parseLong(text(span, "endTimeUnixNano")), attributes, span.has("status"));
    }
  }

  private static String text(JsonObject object, String name) {
    return object.has(name) ? object.get(name).getAsString() : "";
  }

  private static Map<String, String> attributesOf(JsonObject of) {
    Map<String, String> attributes = new HashMap<>();
    for (JsonElement each : of.getAsJsonArray("attributes")) {
      JsonObject attribute = each.getAsJsonObject();
      JsonObject value = attribute.getAsJsonObject("value");
      attributes.put(text(attribute, "key"), value.has("stringValue") ? text(value, "stringValue") : text(value, "intValue"));
    }
    return attributes;
  }

  private void take(HttpExchange exchange) throws IOException {
    String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    if (refuses) {
      exchange.sendResponseHeaders(503, -1);
      return;
    }
    if (!"application/json".equals(exchange.getRequestHeaders().getFirst("Content-Type"))) throw new AssertionError("no JSON");
    authorization = String.valueOf(exchange.getRequestHeaders().getFirst("Authorization"));
    for (JsonElement each : JsonParser.parseString(body).getAsJsonObject().getAsJsonArray("resourceSpans")) {
      JsonObject ofResource = each.getAsJsonObject();
      Map<String, String> resource = attributesOf(ofResource.getAsJsonObject("resource"));
      if (!"dunlin".equals(resource.get("service.name"))) throw new AssertionError("of another service: " + resource);
      for (JsonElement scope : ofResource.getAsJsonArray("scopeSpans")) {
        for (JsonElement span : scope.getAsJsonObject().getAsJsonArray("spans")) spans.add(Span.of(resource.get("service.instance.id"), span.getAsJsonObject()));
      }
    }
    WebService.send(exchange, "{}");
  }

  public String url() {
    return service.url("/v1/traces");
  }

  /** Those of a trace, as they came. */
  public List<Span> of(String traceId) {
    return spans.stream().filter(span -> span.traceId().equals(traceId)).toList();
  }

  public List<Span> all() {
    return List.copyOf(spans);
  }

  public void refuse(boolean whether) {
    refuses = whether;
  }

  /** Requests, those that were refused included. */
  public int requests() {
    return service.requests();
  }

  /** The header of this name of the last request. */
  public String authorization() {
    return authorization;
  }

  @Override
  public void close() {
    service.close();
  }
}
