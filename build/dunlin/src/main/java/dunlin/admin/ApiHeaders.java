package dunlin.admin;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;

/** The headers that all answers of the admin API and its page have. */
final class ApiHeaders {
  /** For {@link HttpExchange#sendResponseHeaders}: the length is not known yet. */
  static final int NO_LENGTH = 0;

  /** The same, of an answer without a body. */
  static final int NO_BODY = -1;

  private ApiHeaders() {}

  static void set(HttpExchange exchange, String type) {
    Headers headers = exchange.getResponseHeaders();
    headers.set("Content-Type", type);
    headers.set("Cache-Control", "no-store");
    headers.set("X-Content-Type-Options", "nosniff");
    headers.set("Cross-Origin-Resource-Policy", "same-origin");
    headers.set("Referrer-Policy", "no-referrer");
  }

  /** Sends an answer of a known length, or, for HEAD, its headers. */
  static void send(HttpExchange exchange, int status, String type, byte[] body) throws IOException {
    set(exchange, type);
    if (exchange.getRequestMethod().equals("HEAD")) {
      exchange.sendResponseHeaders(status, NO_BODY);
    } else {
      exchange.sendResponseHeaders(status, body.length);
      exchange.getResponseBody().write(body);
    }
  }
}
