package dunlin.broker.auth;

import java.net.SocketAddress;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Optional;

/**
 * Who is at the other end of a connection, as far as the transport tells, before any packet has come.
 *
 * @param address where the client connects from; behind a proxy that says so, the client's address and not the proxy's
 * @param listener name of the listener that took the connection
 * @param encrypted whether the connection is TLS
 * @param certificates what the client has proven to own in the TLS handshake, its own certificate first; empty without one
 * @param userName the user that the certificate stands for, where the listener takes it from there
 * @param clientId the client identifier that the certificate stands for, where the listener takes it from there
 */
public record Peer(
    SocketAddress address,
    String listener,
    boolean encrypted,
    List<X509Certificate> certificates,
    Optional<String> userName,
    Optional<String> clientId) {
  public Peer {
    certificates = List.copyOf(certificates);
  }

  /** Whether the certificate stands for another client identifier; an empty one leaves the choice to the certificate. */
  public boolean isAnother(String asked) {
    return clientId.isPresent() && !asked.isEmpty() && !asked.equals(clientId.get());
  }

  /** A client of a listener that knows no more than an address. */
  public static Peer at(SocketAddress address, String listener) {
    return new Peer(address, listener, false, List.of(), Optional.empty(), Optional.empty());
  }
}
