package dunlin.load.page;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.NetUtil;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Refuses requests from pages of other hosts. A hostile host can resolve its own name to this machine (DNS rebinding),
 * so only names outside its control are allowed: an address, {@code localhost}, and the configured name.
 */
final class Gate {
  private static final String SITE = "sec-fetch-site";

  private final String ownName;

  /** @param ownName the configured name of the page, which is allowed too */
  Gate(String ownName) {
    this.ownName = ownName.toLowerCase(Locale.ROOT);
  }

  /** Why a request is refused; empty when it is allowed. */
  Optional<String> refusal(HttpHeaders headers) {
    List<String> hosts = headers.getAll(HttpHeaderNames.HOST);
    if (hosts.size() != 1 || !isOurs(hosts.getFirst())) {
      return Optional.of("This page answers to an address, localhost or %s only.\n".formatted(ownName));
    }
    String origin = headers.get(HttpHeaderNames.ORIGIN);
    if (origin != null && !origin.equalsIgnoreCase("http://" + hosts.getFirst())) return Optional.of("This page answers to no other page.\n");
    return Optional.empty();
  }

  /** Whether the request comes from another site's page, including a link on it. */
  static boolean isOfOtherSite(HttpHeaders headers) {
    String site = headers.get(SITE);
    return site != null && !site.equals("same-origin") && !site.equals("none");
  }

  private boolean isOurs(String host) {
    if (host.startsWith("[")) {
      int end = host.indexOf(']');
      return end > 0 && isPort(host.substring(end + 1)) && NetUtil.isValidIpV6Address(host.substring(1, end));
    }
    int colon = host.indexOf(':');
    String name = (colon < 0 ? host : host.substring(0, colon)).toLowerCase(Locale.ROOT);
    boolean known = name.equals("localhost") || name.equals(ownName) || NetUtil.isValidIpV4Address(name);
    return known && isPort(colon < 0 ? "" : host.substring(colon));
  }

  private static boolean isPort(String text) {
    return text.isEmpty() || text.matches(":[0-9]{1,5}");
  }
}
