package dunlin.load.page;

import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * The address of the page.
 *
 * @param port 0 for a free one
 */
public record PageAddress(String host, int port) {
  private static final int PORT_MAX = 65_535;

  /** Parses "PORT", which means this machine only, or "HOST:PORT". */
  public static PageAddress parse(String text) {
    int colon = text.lastIndexOf(':');
    String number = text.substring(colon + 1);
    String host = colon < 0 ? InetAddress.getLoopbackAddress().getHostAddress() : text.substring(0, colon);
    boolean bracketed = host.startsWith("[") && host.endsWith("]");
    boolean fits = number.matches("[0-9]{1,5}") && Integer.parseInt(number) <= PORT_MAX && !host.isBlank() && (bracketed || !host.contains(":"));
    if (!fits) throw new IllegalArgumentException("the page is served at PORT or HOST:PORT, and not at \"%s\"".formatted(text));
    return new PageAddress(bracketed ? host.substring(1, host.length() - 1) : host, Integer.parseInt(number));
  }

  InetSocketAddress resolve() {
    var address = new InetSocketAddress(host, port);
    if (address.isUnresolved()) throw new IllegalArgumentException("the host %s is not known".formatted(host));
    return address;
  }

  /** The URL for a browser. */
  String url(int boundPort) {
    return "http://%s/".formatted(new PageAddress(host, boundPort));
  }

  @Override
  public String toString() {
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }
}
