package dunlin.model;

/**
 * The publisher of a message. One instance serves all messages of a connection.
 *
 * @param tenant the namespace of topics and sessions
 * @param clientId the client identifier, unique within the tenant
 */
public record Publisher(String tenant, String clientId) {
  /** The tenant of clients to which authentication has assigned none. */
  public static final String DEFAULT_TENANT = "default";
}
