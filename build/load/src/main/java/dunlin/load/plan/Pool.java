package dunlin.load.plan;

import dunlin.load.mqtt.Version;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A group of clients with the same settings.
 *
 * @param first the number of the first client, in place of %i
 * @param versions used in turn by the clients
 * @param clean whether a session ends with its connection, and none is resumed
 * @param sessionExpiry of a session that is kept; 5.0 only
 * @param reconnectAfter null to leave a lost connection alone
 * @param inflightMax the number of unacknowledged messages of QoS 1 and 2 of a client; the broker may allow fewer
 * @param queueMax the number of due messages that a client keeps while it cannot send; further ones are dropped and
 *     counted
 */
public record Pool(
    String name,
    int clients,
    int first,
    Template clientId,
    List<Version> versions,
    boolean clean,
    Duration sessionExpiry,
    Duration keepAlive,
    @Nullable Template user,
    @Nullable Template password,
    @Nullable Credentials credentials,
    @Nullable WillPlan will,
    List<Subscribing> subscriptions,
    List<Publishing> publishings,
    @Nullable Rate connectRate,
    @Nullable Duration reconnectAfter,
    int inflightMax,
    int queueMax,
    Access access) {
  public static final int CLIENTS_MAX = 10_000_000;
  public static final int INFLIGHT_MAX = 60_000;
  public static final int SUBSCRIPTIONS_MAX = 10_000;
  public static final int QUEUE_MAX = 1_000_000;

  public Pool {
    versions = List.copyOf(versions);
    subscriptions = List.copyOf(subscriptions);
    publishings = List.copyOf(publishings);
    if (clients < 1) throw new IllegalArgumentException("the pool %s has no clients".formatted(name));
    if (clients > CLIENTS_MAX) throw new IllegalArgumentException("the pool %s has more than %,d clients".formatted(name, CLIENTS_MAX));
    if (first < 0 || first > Integer.MAX_VALUE - clients) throw new IllegalArgumentException("the pool %s cannot begin with client %,d".formatted(name, first));
    if (keepAlive.toSeconds() > 65_535) throw new IllegalArgumentException("Keep Alive is 65,535 s at most, and not %,d s".formatted(keepAlive.toSeconds()));
    if (inflightMax < 1 || inflightMax > INFLIGHT_MAX) throw new IllegalArgumentException("the inflight window is 1 to %,d, and not %,d".formatted(INFLIGHT_MAX, inflightMax));
    if (queueMax < 0 || queueMax > QUEUE_MAX) throw new IllegalArgumentException("a client's queue is 0 to %,d messages, and not %,d".formatted(QUEUE_MAX, queueMax));
    if (subscriptions.size() > SUBSCRIPTIONS_MAX) throw new IllegalArgumentException("a client of %s has more than %,d subscriptions".formatted(name, SUBSCRIPTIONS_MAX));
    long shared = subscriptions.stream().filter(Subscribing::isShared).count();
    if (shared > 0 && (shared != subscriptions.size() || shared > 1)) {
      throw new IllegalArgumentException("the pool %s has a shared subscription beside others: give each its own pool, or nobody can tell which one a message came by".formatted(name));
    }
    if (clients > 1 && clientId.isConstant() && credentials == null) {
      throw new IllegalArgumentException("all clients of the pool %s are \"%s\": put %%i into the client identifier".formatted(name, clientId));
    }
  }

  Pool from(List<String> sources) {
    var other = new Access(access.endpoints(), access.tls(), access.webSocketPath(), access.proxyHeader(), sources);
    return new Pool(
        name, clients, first, clientId, versions, clean, sessionExpiry, keepAlive, user, password, credentials, will, subscriptions, publishings, connectRate, reconnectAfter,
        inflightMax, queueMax, other);
  }

  /** The identity of a client, counted from 0. */
  public Who who(int client) {
    int number = first + client;
    Credentials.Row row = credentials == null ? null : credentials.row(client);
    String named = row == null || row.user() == null ? "" : row.user();
    var nameless = new Who(number, "", named);
    String id = row != null && row.clientId() != null ? row.clientId() : clientId.fill(nameless);
    String name = row == null && user != null ? user.fill(new Who(number, id, "")) : named;
    return new Who(number, id, name);
  }

  /** The password of a client, or null. */
  public @Nullable String password(int client, Who who) {
    if (credentials != null) return credentials.row(client).password();
    return password == null ? null : password.fill(who);
  }

  public Version version(int client) {
    return versions.get(client % versions.size());
  }

  public Endpoint endpoint(int client) {
    return access.endpoints().get(client % access.endpoints().size());
  }

  /** The TLS settings of a client, with its own certificate if the credentials have one; null for plain connections. */
  public @Nullable Tls tls(int client) {
    Tls tls = access.tls();
    if (tls == null || credentials == null) return tls;
    Credentials.Row row = credentials.row(client);
    return row.certificate() == null || row.key() == null ? tls : tls.with(row.certificate(), row.key());
  }

  /** A topic filter that a client subscribes to. */
  public String filter(int subscription, Who who) {
    return subscriptions.get(subscription).filter().fill(who);
  }
}
