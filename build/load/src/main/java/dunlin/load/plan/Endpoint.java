package dunlin.load.plan;

/** The address of a broker. */
public record Endpoint(String host, int port) {
  public Endpoint {
    if (host.isBlank()) throw new IllegalArgumentException("a host's name is empty");
    if (port < 1 || port > 65_535) throw new IllegalArgumentException("a port is 1 to 65,535, and not " + port);
  }

  @Override
  public String toString() {
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }
}
