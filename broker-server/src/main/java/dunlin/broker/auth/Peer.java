package dunlin.broker.auth;

import java.net.SocketAddress;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Optional;

/**
 * The remote end of a connection, as far as the transport knows it, before the first packet.
 *
 * @param address the client's address, also behind a proxy that transmits it
 * @param listener name of the listener that took the connection
 * @param encrypted whether the connection is TLS
 * @param serverName the name by which the client has called the server in its TLS handshake (SNI), as it was sent, or empty text if that is no name; the
 *     client may say any name there
 * @param certificates the certificate chain of the TLS handshake, the client's own certificate first; empty without one
 * @param userName the user in the certificate, if the listener is configured to use it
 * @param clientId the client identifier in the certificate, if the listener is configured to use it
 */
public record Peer(
    SocketAddress address,
    String listener,
    boolean encrypted,
    Optional<String> serverName,
    List<X509Certificate> certificates,
    Optional<String> userName,
    Optional<String> clientId) {
  public Peer {
    certificates = List.copyOf(certificates);
  }

  /**
   * Whether the certificate names another client identifier; an empty one in CONNECT takes that of the certificate.
   */
  public boolean isAnother(String asked) {
    return clientId.isPresent() && !asked.isEmpty() && !asked.equals(clientId.get());
  }

  /** A client of which only the address is known. */
  public static Peer at(SocketAddress address, String listener) {
    return new Peer(address, listener, false, Optional.empty(), List.of(), Optional.empty(), Optional.empty());
  }
}
