package dunlin.broker.guard;

import java.net.SocketAddress;

/**
 * A CONNECT that was accepted.
 *
 * @param takeOver whether it has taken the session over from another connection
 * @param otherNode the node that the other connection was connected to, if that is another one; else empty
 */
public record Arrival(String tenant, String clientId, SocketAddress address, boolean takeOver, String otherNode) {}
