package dunlin.model;

/**
 * Whose message it is. One instance serves all messages of a connection.
 *
 * @param tenant the namespace of topics and sessions
 * @param clientId the client identifier, unique within the tenant
 */
public record Publisher(String tenant, String clientId) {
  /** The tenant of clients that authentication gave none. */
  public static final String DEFAULT_TENANT = "default";
}
