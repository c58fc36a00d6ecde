package dunlin.admin;

import com.sun.net.httpserver.HttpExchange;
import java.util.Objects;
import java.util.Set;

/** Refuses what a page of another site can make a browser send here. */
final class SameSite {
  private static final Set<String> OWN_NAMES = Set.of("localhost", "127.0.0.1", "[::1]");

  private SameSite() {}

  /**
   * A page of another site can send requests here by its own name, which it lets stand for loopback (DNS rebinding), or across sites. Neither
   * dunlinctl nor our own page does.
   *
   * @throws Problem when it is such a request
   */
  static void check(HttpExchange exchange) {
    String host = Objects.requireNonNullElse(exchange.getRequestHeaders().getFirst("Host"), "");
    if (!OWN_NAMES.contains(host.replaceFirst(":[0-9]{1,5}$", ""))) {
      throw new Problem(421, "The admin API is asked as localhost, 127.0.0.1 or [::1], not under another name.");
    }
    String origin = exchange.getRequestHeaders().getFirst("Origin");
    if (origin != null && !origin.equals("http://" + host)) throw new Problem(403, "The admin API does not answer pages of other sites.");
  }
}
