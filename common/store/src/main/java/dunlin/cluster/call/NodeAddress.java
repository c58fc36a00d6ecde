package dunlin.cluster.call;

/**
 * Where the cluster service of a node answers.
 *
 * @param name what the certificate of the server there must have: the host, or the name by which its address was found
 */
public record NodeAddress(String host, int port, String name) {
  public NodeAddress {
    if (host.isBlank() || host.length() > 255) throw new IllegalArgumentException("host of a node is '" + host + "'");
    if (port < 1 || port > 65_535) throw new IllegalArgumentException("port of node '" + host + "' is " + port);
  }

  public NodeAddress(String host, int port) {
    this(host, port, host);
  }

  /** Reads host:port, where the host may be an address of IPv6 in brackets. */
  public static NodeAddress parse(String text) {
    int colon = text.lastIndexOf(':');
    String host = colon < 0 ? "" : text.substring(0, colon);
    if (host.startsWith("[") && host.endsWith("]")) host = host.substring(1, host.length() - 1);
    else if (host.indexOf(':') >= 0) host = "";
    if (host.isBlank() || !text.substring(colon + 1).matches("[0-9]{1,5}"))
      throw new IllegalArgumentException("'" + text + "' is no address of a node: host:port is one, [::1]:7000 too");
    return new NodeAddress(host, Integer.parseInt(text.substring(colon + 1)));
  }

  @Override
  public String toString() {
    return host.indexOf(':') >= 0 ? "[" + host + "]:" + port : host + ":" + port;
  }
}
