package dunlin.testkit;

import java.net.URI;

/**
 * Makes clients of one library for tests. A service: its class is named in {@code META-INF/services/dunlin.testkit.ClientFactory}, is public, and has a public
 * constructor without parameters.
 *
 * @param <C> the type of the clients
 */
public interface ClientFactory<C> {
  /** The type that parameters of tests have; exactly this, not a supertype. */
  Class<C> type();

  /**
   * Makes a client and connects it.
   *
   * @param broker its address, {@code tcp://host:port}
   * @param clientId the client identifier
   * @throws Exception of the library; the test fails with it
   */
  C connect(URI broker, String clientId) throws Exception;

  /**
   * Closes a client, connected or not, with all of its threads. Called once.
   *
   * @throws Exception of the library; the test fails with it
   */
  void close(C client) throws Exception;
}
