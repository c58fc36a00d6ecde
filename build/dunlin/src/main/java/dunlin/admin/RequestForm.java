package dunlin.admin;

import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoints;
import dunlin.admin.operate.Problem;
import dunlin.runtime.LogText;
import java.io.IOException;
import java.io.StringReader;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Reads what a request says: which endpoint it means, and the texts of its parameters. */
final class RequestForm {
  private RequestForm() {}

  /** @param path the values of the parameters in the path */
  record Route(Endpoint endpoint, Map<String, String> path) {
    Route {
      path = Map.copyOf(path);
    }
  }

  /**
   * The endpoint of a method and a path.
   *
   * @throws Problem when there is none
   */
  static Route route(String method, String rawPath) {
    List<String> segments = segments(rawPath);
    Set<Endpoint.Method> others = EnumSet.noneOf(Endpoint.Method.class);
    Optional<Route> best = Optional.empty();
    for (Endpoint endpoint : Endpoints.ALL) {
      Optional<Map<String, String>> path = match(segments(Endpoints.PREFIX + endpoint.path()), segments);
      if (path.isEmpty()) continue;
      if (!endpoint.method().name().equals(method)) others.add(endpoint.method());
      // A path of fixed segments comes before one with parameters.
      else if (best.isEmpty() || path.get().isEmpty()) best = Optional.of(new Route(endpoint, path.get()));
    }
    if (best.isPresent()) return best.get();
    if (!others.isEmpty()) throw new Problem(405, "This path has " + others + " only.");
    throw new Problem(404, "There is no such path; " + Endpoints.DOCUMENT + " lists them.");
  }

  private static List<String> segments(String path) {
    return List.of(path.split("/", -1));
  }

  private static Optional<Map<String, String>> match(List<String> pattern, List<String> segments) {
    if (pattern.size() != segments.size()) return Optional.empty();
    Map<String, String> values = new HashMap<>();
    for (int i = 0; i < pattern.size(); i++) {
      String expected = pattern.get(i);
      String segment = segments.get(i);
      if (expected.startsWith("{")) {
        values.put(expected.substring(1, expected.length() - 1), decoded(segment.replace("+", "%2B")));
      } else if (!expected.equals(segment)) {
        return Optional.empty();
      }
    }
    return Optional.of(values);
  }

  /** @throws Problem when a name comes twice, or an escape is wrong */
  static Map<String, String> query(String rawQuery) {
    Map<String, String> values = new HashMap<>();
    if (rawQuery.isEmpty()) return values;
    for (String pair : rawQuery.split("&", -1)) {
      int equals = pair.indexOf('=');
      String name = decoded(equals < 0 ? pair : pair.substring(0, equals));
      String value = equals < 0 ? "" : decoded(pair.substring(equals + 1));
      if (values.put(name, value) != null) throw twice(name);
    }
    return values;
  }

  private static String decoded(String text) {
    try {
      return URLDecoder.decode(text, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException wrong) {
      throw Problem.invalid("The address has a percent sign that begins no escape.");
    }
  }

  /** The members of a flat JSON object; an empty body has none. */
  static Map<String, String> body(byte[] bytes) {
    Map<String, String> values = new HashMap<>();
    if (bytes.length == 0) return values;
    try {
      JsonReader json = new JsonReader(new StringReader(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString()));
      json.setStrictness(Strictness.STRICT);
      json.beginObject();
      while (json.hasNext()) {
        String name = json.nextName();
        if (values.put(name, value(json, name)) != null) throw twice(name);
      }
      json.endObject();
      if (json.peek() != JsonToken.END_DOCUMENT) throw Problem.invalid("The body has something after its JSON object.");
      return values;
    } catch (CharacterCodingException notText) {
      throw Problem.invalid("The body is not UTF-8.");
    } catch (IOException | IllegalStateException notJson) {
      throw Problem.invalid("The body is not a JSON object of texts, numbers and booleans.");
    }
  }

  private static String value(JsonReader json, String name) throws IOException {
    return switch (json.peek()) {
      case STRING, NUMBER -> json.nextString();
      case BOOLEAN -> Boolean.toString(json.nextBoolean());
      default -> throw Problem.invalid("The member " + LogText.quoted(name) + " is neither a text nor a number nor a boolean.");
    };
  }

  private static Problem twice(String name) {
    return Problem.invalid("The parameter " + LogText.quoted(name) + " comes twice.");
  }
}
