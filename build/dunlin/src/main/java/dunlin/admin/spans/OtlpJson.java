package dunlin.admin.spans;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dunlin.transport.trace.SpanSampler.SpanStep;
import dunlin.transport.trace.Trace.Event;
import dunlin.transport.trace.Trace.Step;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;

/** Makes requests of OTLP, version 1, in its JSON form: {@code ExportTraceServiceRequest}. */
final class OtlpJson {
  private static final int SERVER = 2;
  private static final int INTERNAL = 1;
  private static final int ERROR = 2;
  private static final String PUBLISH = "publish";

  /** Steps after which the way of a message through the broker is over for its publisher. */
  private static final Set<String> LAST_STEPS = Set.of(Step.ANSWERED.label(), Step.REFUSED.label());

  /** The same for QoS 0, which is not answered. */
  private static final Set<String> LAST_STEPS_OF_QOS0 = Set.of(Step.HANDED_ON.label(), Step.DROPPED.label(), Step.REFUSED.label());

  private static final Set<String> FAILURES = Set.of(Step.DROPPED.label(), Step.REFUSED.label(), Step.NOT_RETAINED.label());

  private final JsonObject resource;
  private final JsonObject scope;
  private final RandomGenerator random;

  /**
   * @param node the id of the node
   * @param random gives numbers of spans
   */
  OtlpJson(String node, String version, RandomGenerator random) {
    JsonArray attributes = new JsonArray();
    attributes.add(attribute("service.name", text("dunlin")));
    attributes.add(attribute("service.version", text(version)));
    attributes.add(attribute("service.instance.id", text(node)));
    resource = new JsonObject();
    resource.add("attributes", attributes);
    scope = new JsonObject();
    scope.addProperty("name", "dunlin");
    scope.addProperty("version", version);
    this.random = random;
  }

  /** A request with a span for each step. */
  JsonObject request(List<SpanStep> steps) {
    JsonArray spans = new JsonArray();
    for (SpanStep step : steps) spans.add(span(step));
    JsonObject ofScope = new JsonObject();
    ofScope.add("scope", scope);
    ofScope.add("spans", spans);
    JsonObject ofResource = new JsonObject();
    ofResource.add("resource", resource);
    ofResource.add("scopeSpans", only(ofScope));
    JsonObject request = new JsonObject();
    request.add("resourceSpans", only(ofResource));
    return request;
  }

  private JsonObject span(SpanStep step) {
    Event event = step.event();
    boolean whole = isWhole(event);
    JsonObject span = new JsonObject();
    span.addProperty("traceId", step.traceId());
    span.addProperty("spanId", whole ? step.spanId() : another(step.spanId()));
    if (!whole) span.addProperty("parentSpanId", step.spanId());
    else if (!step.parentId().isEmpty()) span.addProperty("parentSpanId", step.parentId());
    span.addProperty("name", whole ? "publish " + event.topic() : event.hop() + " " + event.step());
    span.addProperty("kind", whole ? SERVER : INTERNAL);
    long end = TimeUnit.MICROSECONDS.toNanos(event.atMicros());
    long begin = TimeUnit.MILLISECONDS.toNanos(step.acceptedAtMillis());
    span.addProperty("startTimeUnixNano", Long.toString(Math.min(begin, end))); // clocks of nodes differ
    span.addProperty("endTimeUnixNano", Long.toString(end));
    span.add("attributes", attributes(event));
    if (FAILURES.contains(event.step())) {
      JsonObject status = new JsonObject();
      status.addProperty("code", ERROR);
      status.addProperty("message", event.reason());
      span.add("status", status);
    }
    return span;
  }

  /** Whether a step ends the message's way, so that its span is that of all of it. */
  private static boolean isWhole(Event event) {
    return event.hop().equals(PUBLISH) && (event.qos() == 0 ? LAST_STEPS_OF_QOS0 : LAST_STEPS).contains(event.step());
  }

  private String another(String than) {
    String id;
    do {
      id = "%016x".formatted(random.nextLong());
    } while (id.equals(than) || id.equals("0000000000000000"));
    return id;
  }

  private static JsonArray attributes(Event event) {
    JsonArray attributes = new JsonArray();
    attributes.add(attribute("messaging.system", text("mqtt")));
    attributes.add(attribute("messaging.destination.name", text(event.topic())));
    attributes.add(attribute("messaging.message.body.size", number(event.payloadBytes())));
    attributes.add(attribute("dunlin.hop", text(event.hop())));
    attributes.add(attribute("dunlin.step", text(event.step())));
    attributes.add(attribute("dunlin.qos", number(event.qos())));
    if (!event.reason().isEmpty()) attributes.add(attribute("dunlin.reason", text(event.reason())));
    if (!event.publisher().isEmpty()) attributes.add(attribute("dunlin.publisher", text(event.publisher())));
    if (!event.client().isEmpty()) attributes.add(attribute("messaging.client.id", text(event.client())));
    return attributes;
  }

  private static JsonObject attribute(String key, JsonObject value) {
    JsonObject attribute = new JsonObject();
    attribute.addProperty("key", key);
    attribute.add("value", value);
    return attribute;
  }

  private static JsonObject text(String value) {
    JsonObject text = new JsonObject();
    text.addProperty("stringValue", value);
    return text;
  }

  /** A number of 64 bits is a text in this form. */
  private static JsonObject number(long value) {
    JsonObject number = new JsonObject();
    number.addProperty("intValue", Long.toString(value));
    return number;
  }

  private static JsonArray only(JsonElement element) {
    JsonArray array = new JsonArray();
    array.add(element);
    return array;
  }
}
