package dunlin.inbox;

/**
 * A session, as named by the connection that owns it. A call with an old epoch, that is, from before a later CONNECT,
 * is refused with {@link StaleSessionException}.
 *
 * @param epoch raised with every CONNECT of the client identifier
 */
public record SessionRef(String tenant, String clientId, long epoch) {}
