package dunlin.broker.listen;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which web pages may open a WebSocket to a listener; RFC 6455, section 10.2.
 *
 * <p>For any page, a browser connects to any address that its user can reach, including loopback, and names the page in
 * {@code Origin}. Clients that are not browsers send no {@code Origin} and need none.
 *
 * <p>Without a list, a page is admitted if it comes from the host that it connects to. A DNS name can be changed to
 * loopback while a page of that name is open (DNS rebinding), so a page that connects over loopback must also come from
 * a loopback name or address.
 */
final class WebOrigins {
  private static final String ANY = "*";

  private final Set<String> allowed;

  private WebOrigins(Set<String> allowed) {
    this.allowed = allowed;
  }

  /**
   * Reads the setting of a listener.
   *
   * @throws ListenerException if an element is not an origin
   */
  static WebOrigins of(ListenerSettings listener) {
    Set<String> allowed = new LinkedHashSet<>();
    for (String text : listener.origins()) {
      String origin = text.equals(ANY) ? ANY : serialized(text);
      if (origin == null) {
        throw new ListenerException(
            text + " (" + listener.key("origins") + ") is not an origin, such as https://app.example.com, and not *");
      }
      allowed.add(origin);
    }
    return new WebOrigins(allowed);
  }

  /**
   * Whether a request may open a WebSocket.
   *
   * @param origins the values of its Origin headers
   * @param hosts the values of its Host headers
   * @param local the local address of the connection
   */
  boolean admits(List<String> origins, List<String> hosts, @Nullable SocketAddress local) {
    if (origins.isEmpty() || allowed.contains(ANY)) return true;
    String origin = origins.size() == 1 ? serialized(origins.getFirst()) : null;
    if (origin == null) return false;
    if (!allowed.isEmpty()) return allowed.contains(origin);
    String page = hostOf(origin);
    String asked = hosts.size() == 1 ? hostOf("http://" + hosts.getFirst()) : null;
    return page != null && page.equals(asked) && (!isLoopback(local) || isLoopbackName(page));
  }

  /**
   * An origin as browsers serialize it, with a lower-case host and without the scheme's default port; null if the text
   * is not an origin.
   */
  private static @Nullable String serialized(String text) {
    URI uri = parsed(text);
    if (uri == null || uri.getScheme() == null || uri.getHost() == null) return null;
    boolean more = !uri.getRawPath().isEmpty() || uri.getRawQuery() != null || uri.getRawFragment() != null || uri.getRawUserInfo() != null;
    if (more) return null;
    String scheme = uri.getScheme().toLowerCase(Locale.ROOT);
    int usualPort = scheme.equals("https") ? 443 : scheme.equals("http") ? 80 : -1;
    String port = uri.getPort() == -1 || uri.getPort() == usualPort ? "" : ":" + uri.getPort();
    return scheme + "://" + uri.getHost().toLowerCase(Locale.ROOT) + port;
  }

  private static @Nullable String hostOf(String url) {
    URI uri = parsed(url);
    return uri == null || uri.getHost() == null ? null : uri.getHost().toLowerCase(Locale.ROOT);
  }

  private static @Nullable URI parsed(String text) {
    try {
      return new URI(text);
    } catch (URISyntaxException _) {
      return null;
    }
  }

  private static boolean isLoopback(@Nullable SocketAddress local) {
    if (!(local instanceof InetSocketAddress inet)) return true;
    InetAddress address = inet.getAddress();
    return address == null || address.isLoopbackAddress();
  }

  /** Whether a name or literal address always stands for this machine; RFC 6761, section 6.3. No name is resolved. */
  private static boolean isLoopbackName(String host) {
    return host.equals("localhost")
        || host.endsWith(".localhost")
        || host.equals("[::1]")
        || host.matches("127(\\.[0-9]{1,3}){3}");
  }
}
