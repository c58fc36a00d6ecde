package dunlin.broker.auth;

import dunlin.broker.access.Policy;
import dunlin.broker.access.Subject;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * Says what a client may do: it is asked once, after the client was authenticated, and not for each message; MQTT 5,
 * section 4.12 and 5.4.2.
 *
 * <p>It is called on the threads that call authenticators ({@code dunlin.auth.threads}), never on an event loop, for
 * several clients at the same time. An implementation that has to wait should complete its answer later rather than block
 * the thread. An exception, null, and no answer within {@code dunlin.auth.timeout} refuse the client.
 */
public interface Authorizer {
  /**
   * The policy of a client, which is in force while its connection lasts; see {@link Policy#of}.
   *
   * @param client who it is
   * @param peer its connection. Empty for a will that is sent after the connection has ended: then the answer says
   *     whether it may still be published
   */
  CompletionStage<Policy> authorize(Subject client, Optional<Peer> peer);
}
