package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import dunlin.TestBroker;
import dunlin.admin.api.Endpoints;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Each parameter of each endpoint by itself, from the OpenAPI document: with every kind of value that it must not have, beside others that are right, the refusal names it. And bodies
 * that are too large, or too slow, at each endpoint that has one. Random ones are in {@link AdminApiAttackIT}.
 */
class AdminApiParametersIT {
  /** Beyond what the body of any endpoint may have. */
  private static final int TOO_LARGE = 4_194_305;

  @TempDir private Path directory;

  private TestBroker broker;
  private ApiCalls api;

  @BeforeEach
  void start() {
    broker = TestBroker.on(directory, Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0"));
    api = ApiCalls.of(directory);
  }

  @AfterEach
  void stop() {
    api.close();
    broker.close();
  }

  /**
   * A parameter as the document has it.
   *
   * @param in path, query or body
   */
  private record Parameter(String name, String in, boolean required, JsonObject schema) {
    /** A value that it may have. */
    String right() {
      if (schema.has("enum")) return schema.getAsJsonArray("enum").get(0).getAsString();
      if (schema.has("default")) return schema.get("default").getAsString();
      return schema.has("minimum") ? schema.get("minimum").getAsString() : "a".repeat(Math.max(4, schema.get("minLength").getAsInt()));
    }

    /** Values that it must not have, as texts. */
    List<String> wrong() {
      return switch (schema.get("type").getAsString()) {
        case "integer" -> {
          String less = Long.toString(schema.get("minimum").getAsLong() - 1);
          String more = Long.toString(schema.get("maximum").getAsLong() + 1);
          yield List.of(less, more, "", " ", "x", "1.5", "1e3", "0x1", "+1", " 1", "--1", "\u0661", "99999999999999999999");
        }
        case "boolean" -> List.of("", "TRUE", "yes", "1", " true");
        default -> {
          List<String> texts = new ArrayList<>();
          texts.add("x".repeat(schema.get("maxLength").getAsInt() + 1));
          if (schema.get("minLength").getAsInt() > 0) texts.add("x".repeat(schema.get("minLength").getAsInt() - 1));
          if (schema.has("enum")) texts.addAll(List.of("none-such", right() + " ", right().toUpperCase(Locale.ROOT) + "x"));
          yield texts;
        }
      };
    }
  }

  private record Operation(String method, String path, List<Parameter> parameters) {
    boolean hasBody() {
      return method.equals("PUT") || method.equals("POST");
    }

    List<Parameter> in(String place) {
      return parameters.stream().filter(parameter -> parameter.in.equals(place)).toList();
    }
  }

  /** A request in which all is right until something is made wrong. */
  private static final class Request {
    private final Operation operation;
    private final Map<String, String> path = new HashMap<>();
    private final List<String> query = new ArrayList<>();
    private final Map<String, JsonElement> body = new LinkedHashMap<>();

    Request(Operation operation) {
      this.operation = operation;
      for (Parameter each : operation.parameters) add(each, each.right());
    }

    Request without(Parameter parameter) {
      path.remove(parameter.name);
      query.removeIf(each -> each.startsWith(parameter.name + "="));
      body.remove(parameter.name);
      return this;
    }

    Request add(Parameter parameter, String value) {
      switch (parameter.in) {
        case "path" -> path.put(parameter.name, value);
        case "query" -> query(parameter.name, value);
        default -> body.put(parameter.name, new JsonPrimitive(value));
      }
      return this;
    }

    Request query(String name, String value) {
      query.add(name + "=" + encoded(value));
      return this;
    }

    Request body(String name, JsonElement value) {
      body.put(name, value);
      return this;
    }

    Answer send(ApiCalls api) {
      String address = operation.path;
      for (var each : path.entrySet()) address = address.replace("{" + each.getKey() + "}", encoded(each.getValue()));
      if (!query.isEmpty()) address += "?" + String.join("&", query);
      JsonObject object = new JsonObject();
      body.forEach(object::add);
      return api.send(operation.method, address, operation.hasBody() ? object.toString() : null, "application/json");
    }

    private static String encoded(String text) {
      return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }
  }

  private List<Operation> operations() {
    List<Operation> all = new ArrayList<>();
    for (var path : api.get("/openapi.json").json().getAsJsonObject("paths").entrySet()) {
      for (var method : path.getValue().getAsJsonObject().entrySet()) {
        all.add(new Operation(method.getKey().toUpperCase(Locale.ROOT), path.getKey(), parameters(method.getValue().getAsJsonObject())));
      }
    }
    assertThat(all).hasSameSizeAs(Endpoints.ALL);
    return all;
  }

  private static List<Parameter> parameters(JsonObject operation) {
    List<Parameter> all = new ArrayList<>();
    for (JsonElement each : operation.getAsJsonArray("parameters")) {
      JsonObject parameter = each.getAsJsonObject();
      all.add(new Parameter(parameter.get("name").getAsString(), parameter.get("in").getAsString(), parameter.get("required").getAsBoolean(), parameter.getAsJsonObject("schema")));
    }
    if (!operation.has("requestBody")) return all;
    JsonObject schema = operation.getAsJsonObject("requestBody").getAsJsonObject("content").getAsJsonObject("application/json").getAsJsonObject("schema");
    var required = new TreeSet<String>();
    for (JsonElement each : schema.getAsJsonArray("required")) required.add(each.getAsString());
    schema.getAsJsonObject("properties").asMap().forEach((name, of) -> all.add(new Parameter(name, "body", required.contains(name), of.getAsJsonObject())));
    return all;
  }

  private void refused(Operation operation, Parameter parameter, String how, Request request) {
    Answer answer = request.send(api);
    String what = "%s %s, %s %s: %.300s".formatted(operation.method, operation.path, parameter.name, how, answer.text());
    assertThat(answer.status()).as(what).isEqualTo(400);
    assertThat(answer.type()).as(what).isEqualTo("application/problem+json");
    assertThat(answer.member("detail")).as(what).contains(parameter.name).endsWith(".");
  }

  @Test
  void aRefusalNamesTheParameterThatIsWrong() {
    int tried = 0;
    for (Operation operation : operations()) {
      for (Parameter parameter : operation.parameters) {
        for (String value : parameter.wrong()) {
          refused(operation, parameter, "'%.40s'".formatted(value), new Request(operation).without(parameter).add(parameter, value));
          tried++;
        }
        if (parameter.required && !parameter.in.equals("path")) refused(operation, parameter, "missing", new Request(operation).without(parameter));
      }
    }
    assertThat(tried).isGreaterThan(3 * Endpoints.ALL.size());
  }

  @Test
  void aRefusalNamesTheParameterThatComesTwiceOrInAnotherPlaceOrAsAnotherType() {
    for (Operation operation : operations()) {
      for (Parameter parameter : operation.in("query")) {
        refused(operation, parameter, "twice", new Request(operation).add(parameter, parameter.right()));
        if (operation.hasBody()) refused(operation, parameter, "in the body", new Request(operation).body(parameter.name, new JsonPrimitive(parameter.right())));
      }
      for (Parameter parameter : operation.in("body")) {
        refused(operation, parameter, "in the address", new Request(operation).query(parameter.name, parameter.right()));
        for (JsonElement value : List.of(new JsonArray(), new JsonObject(), JsonNull.INSTANCE)) {
          refused(operation, parameter, value.toString(), new Request(operation).without(parameter).body(parameter.name, value));
        }
      }
      for (Parameter parameter : operation.in("path")) {
        refused(operation, parameter, "in the address, too", new Request(operation).query(parameter.name, parameter.right()));
      }
    }
  }

  @Test
  void bodiesAreRefusedWhereThereIsNoneAndWhereTheyAreTooLarge() {
    String large = "{\"a\":\"" + "x".repeat(TOO_LARGE) + "\"}";
    try (var client = RawClient.connected(broker.port(), Connect.of("client"))) {
      for (Operation operation : operations()) {
        String path = operation.path.replaceAll("\\{.*?}", "none-such");
        if (!operation.hasBody()) {
          Answer answer = api.send(operation.method, path, "{}", "application/json");
          assertThat(answer.status()).as(operation + answer.text()).isEqualTo(400);
          assertThat(answer.member("detail")).isEqualTo("A request of the method " + operation.method + " has no body.");
        } else {
          assertThat(api.send(operation.method, path, large, "application/json").status()).as(operation.toString()).isEqualTo(413);
          assertThat(client.publishAndWait("a", "b")).isLessThan(0x80);
        }
      }
    }
  }

  @Test
  void anImportThatComesSlowlyHoldsUpOtherImportsAloneAndIsCutOff() throws Exception {
    JsonObject message = new JsonObject();
    message.addProperty("lines", Endpoints.EXPORT_HEADER + "\n{\"topic\":\"kept\",\"payload\":\"b24=\"}");
    for (String path : List.of("/retained/import", "/import/sessions")) {
      try (Socket slow = new Socket(InetAddress.getLoopbackAddress(), api.port());
          var client = RawClient.connected(broker.port(), Connect.of("client"))) {
        slow.setSoTimeout(60_000);
        String head =
            "POST /api/v1%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{".formatted(path, api.token());
        slow.getOutputStream().write(head.getBytes(StandardCharsets.ISO_8859_1));
        await().atMost(TestBroker.SOON).until(() -> api.post("/retained/import", message.toString()).status() == 503);
        assertThat(api.post("/retained/import", message.toString()).member("detail")).contains("one import at a time");
        assertThat(api.get("/status").status()).isEqualTo(200);
        assertThat(api.post("/publish", "{\"topic\":\"a\"}").status()).isEqualTo(200);
        assertThat(client.publishAndWait("a", "b")).isLessThan(0x80);
        assertThat(answerOf(slow)).as("a part of an import").doesNotContain("HTTP/1.1 200").doesNotContain("HTTP/1.1 5");
      }
      await().atMost(TestBroker.SOON).until(() -> api.post("/retained/import", message.toString()).status() == 200);
    }
  }

  /** What comes until the connection ends; it fails when the connection does not end. */
  private static String answerOf(Socket socket) throws SocketTimeoutException {
    ByteArrayOutputStream answer = new ByteArrayOutputStream();
    try {
      socket.getInputStream().transferTo(answer);
    } catch (SocketTimeoutException stuck) {
      throw stuck;
    } catch (IOException reset) {
      // as good as an end
    }
    return answer.toString(StandardCharsets.UTF_8);
  }
}
