package dunlin.inbox;

/**
 * A session as its present owner names it. Whatever comes with an epoch that a later CONNECT has raised is refused with
 * {@link StaleSessionException}.
 *
 * @param epoch raised with every CONNECT of the client identifier
 */
public record SessionRef(String tenant, String clientId, long epoch) {}
