package dunlin.ctl;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoints;
import dunlin.admin.api.Parameter;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.HttpURLConnection;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLException;

/** Calls endpoints by HTTP, with the JDK's oldest client, which starts the fastest. */
final class ApiClient {
  /*
   * Bounds: CONNECT_MILLIS to connect; a node answers a request or closes the connection within READ_MILLIS.
   */
  private static final int CONNECT_MILLIS = 5_000;
  private static final int READ_MILLIS = 90_000;

  private static final String DATA = "data: ";

  private final ApiAccess access;

  ApiClient(ApiAccess access) {
    this.access = access;
  }

  /** The node's answer is that it cannot or will not; the message is its sentence. */
  static final class RefusedException extends Exception {
    private static final long serialVersionUID = 1L;

    RefusedException(String reason) {
      super(reason);
    }
  }

  /**
   * Calls an endpoint.
   *
   * @param values of parameters by name; those that are missing are not sent
   * @throws IOException when no answer comes
   */
  JsonObject call(Endpoint endpoint, Map<String, String> values) throws IOException, RefusedException {
    return read(answered(endpoint, values, "application/json"));
  }

  /** Hands over each event of a stream, until it ends. The same exceptions. */
  void follow(Endpoint endpoint, Map<String, String> values, Consumer<JsonObject> onEvent) throws IOException, RefusedException {
    try (BufferedReader lines = new BufferedReader(new InputStreamReader(answered(endpoint, values, "text/event-stream"), StandardCharsets.UTF_8))) {
      for (String line; (line = lines.readLine()) != null; ) if (line.startsWith(DATA)) onEvent.accept(object(line.substring(DATA.length())));
    }
  }

  /** The body of the answer, which is not a refusal. */
  private InputStream answered(Endpoint endpoint, Map<String, String> values, String accepted) throws IOException, RefusedException {
    try {
      return asked(endpoint, values, accepted);
    } catch (SSLException e) {
      throw new IOException("%s does not speak TLS, or its certificate is not trusted; --ca names the certificates to trust: %s".formatted(access.address(), e.getMessage()), e);
    }
  }

  private InputStream asked(Endpoint endpoint, Map<String, String> values, String accepted) throws IOException, RefusedException {
    HttpURLConnection connection = (HttpURLConnection) access.address().resolve(address(endpoint, values)).toURL().openConnection();
    if (connection instanceof HttpsURLConnection secure && access.trust() != null) secure.setSSLSocketFactory(access.trust());
    connection.setConnectTimeout(CONNECT_MILLIS);
    connection.setReadTimeout(READ_MILLIS);
    connection.setInstanceFollowRedirects(false);
    connection.setUseCaches(false);
    connection.setRequestMethod(endpoint.method().name());
    connection.setRequestProperty("Authorization", access.authorization());
    connection.setRequestProperty("Accept", accepted);
    if (endpoint.hasBody()) {
      connection.setRequestProperty("Content-Type", "application/json");
      connection.setDoOutput(true);
      connection.getOutputStream().write(body(endpoint, values).toString().getBytes(StandardCharsets.UTF_8));
    }
    int status = connection.getResponseCode();
    if (status < 400) return connection.getInputStream();
    JsonElement detail = read(connection.getErrorStream()).get("detail");
    throw new RefusedException(detail == null ? "The answer has the status " + status + "." : detail.getAsString());
  }

  private static String address(Endpoint endpoint, Map<String, String> values) {
    String path = Endpoints.PREFIX + endpoint.path();
    List<String> query = new ArrayList<>();
    for (Parameter parameter : endpoint.parameters()) {
      String value = values.get(parameter.name());
      if (value == null) continue;
      String encoded = URLEncoder.encode(value, StandardCharsets.UTF_8).replace("+", "%20");
      switch (parameter.place()) {
        case PATH -> path = path.replace("{" + parameter.name() + "}", encoded);
        case QUERY -> query.add(parameter.name() + "=" + encoded);
        case BODY -> {}
      }
    }
    return query.isEmpty() ? path : path + "?" + String.join("&", query);
  }

  private static JsonObject body(Endpoint endpoint, Map<String, String> values) {
    JsonObject body = new JsonObject();
    for (Parameter parameter : endpoint.parameters()) {
      String value = values.get(parameter.name());
      if (value == null || parameter.place() != Parameter.Place.BODY) continue;
      body.add(
          parameter.name(),
          switch (parameter.kind()) {
            case TEXT, LINES, SECRET -> new JsonPrimitive(value);
            case INTEGER -> new JsonPrimitive(Long.valueOf(value));
            case FLAG -> new JsonPrimitive(Boolean.valueOf(value));
          });
    }
    return body;
  }

  private static JsonObject read(InputStream answer) throws IOException {
    if (answer == null) throw new IOException("the answer is empty");
    try (answer) {
      return object(new String(answer.readAllBytes(), StandardCharsets.UTF_8));
    }
  }

  private static JsonObject object(String text) throws IOException {
    try {
      return JsonParser.parseString(text).getAsJsonObject();
    } catch (JsonParseException | IllegalStateException e) {
      throw new IOException("the answer is not one of Dunlin's admin API", e);
    }
  }
}
