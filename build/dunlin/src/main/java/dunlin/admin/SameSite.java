package dunlin.admin;

import com.sun.net.httpserver.HttpExchange;
import dunlin.admin.operate.Problem;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * Refuses what a page of another site can make a browser send here. Such a page can send requests by its own name, which it lets stand for
 * the node's address (DNS rebinding), or across sites. Neither dunlinctl nor our own page does.
 */
final class SameSite {
  private static final Set<String> LOOPBACK = Set.of("localhost", "127.0.0.1", "[::1]");

  /** An address cannot be made to stand for another one, as a name can. */
  private static final Pattern ADDRESS = Pattern.compile("[0-9]{1,3}(\\.[0-9]{1,3}){3}|\\[[0-9a-f:.]+]");

  private final String scheme;
  private final Predicate<String> own;
  private final String refusal;

  private SameSite(String scheme, Predicate<String> own, String refusal) {
    this.scheme = scheme;
    this.own = own;
    this.refusal = refusal;
  }

  static SameSite onLoopback() {
    return new SameSite("http://", LOOPBACK::contains, "The admin API is asked as localhost, 127.0.0.1 or [::1], not under another name.");
  }

  /** @param own whether the node has this name, in lower case, beside its addresses */
  static SameSite byTls(Predicate<String> own) {
    return new SameSite(
        "https://", name -> LOOPBACK.contains(name) || ADDRESS.matcher(name).matches() || own.test(name),
        "The admin API is asked under a name in its certificate or in dunlin.admin.tls.names, or by its address.");
  }

  /** @throws Problem when it is such a request */
  void check(HttpExchange exchange) {
    String host = Objects.requireNonNullElse(exchange.getRequestHeaders().getFirst("Host"), "").toLowerCase(Locale.ROOT);
    if (!own.test(host.replaceFirst(":[0-9]{1,5}$", ""))) throw new Problem(421, refusal);
    String origin = exchange.getRequestHeaders().getFirst("Origin");
    if (origin != null && !origin.equals(scheme + host)) throw new Problem(403, "The admin API does not answer pages of other sites.");
  }
}
