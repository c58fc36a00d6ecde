package dunlin;

import dunlin.node.TierConnections;
import dunlin.node.Embedding;
import dunlin.node.NodeSettings;
import dunlin.node.Node;
import dunlin.broker.ConnectionEvent;
import dunlin.broker.auth.AuthenticationProvider.Authenticators;
import dunlin.broker.auth.Authenticator;
import dunlin.broker.auth.Authorizer;
import dunlin.broker.auth.EnhancedAuthenticator;
import dunlin.broker.listen.ListenerKeys;
import dunlin.model.Publisher;
import dunlin.runtime.SettingSource;
import dunlin.runtime.Settings;
import dunlin.runtime.Surroundings;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A running node, embedded in an application.
 *
 * <p>Several nodes may run in one JVM: nothing is static, no shutdown hook is set, logging is left to the application (SLF4J).
 * Any thread may call it; once it is closed, all but {@link #close} and {@link #nodeId} throw an {@link IllegalStateException}.
 */
public final class Dunlin implements AutoCloseable {
  private final Node node;
  private final @Nullable TemporaryDirectory temporary;

  private volatile boolean closed; // set by any thread

  private Dunlin(Node node, @Nullable TemporaryDirectory temporary) {
    this.node = node;
    this.temporary = temporary;
  }

  /** A builder with all settings at their defaults. */
  public static Builder builder() {
    return new Builder();
  }

  /** The port that the listener {@code tcp} listens on, also when the setting is 0. */
  public int tcpPort() {
    return port("tcp");
  }

  /**
   * The port that a listener listens on, also when its setting said 0.
   *
   * @throws IllegalArgumentException when there is no listener of that name, or it has no port
   * @throws IllegalStateException on a store node, which has no listeners
   */
  public int port(String listener) {
    int port = open().frontend().port(listener);
    if (port < 0) throw new IllegalArgumentException("no listener with a port: " + listener);
    return port;
  }

  /** The port of /health, /ready and /metrics, or -1 when there is none. */
  public int adminPort() {
    return open().adminPort();
  }

  /** The port of {@code dunlin.health.port}, also when that is 0, or -1 when there is none. */
  public int healthPort() {
    return open().healthPort();
  }

  /** The node's id, which is kept in its data directory. */
  public String nodeId() {
    return node.id();
  }

  /** The node; throws if it has been closed. */
  private Node open() {
    if (closed) throw new IllegalStateException("this node has been closed");
    return node;
  }

  private Application application() {
    Node serving = open();
    return new Application(serving.publisher(), serving.subscriptions());
  }

  /** The node, for tests that check its counters. */
  Node node() {
    return node;
  }

  /**
   * Publishes a message in the default tenant, without a connection. Messages of one topic and QoS keep the order of
   * the calls. Never blocks.
   *
   * @return whether there are subscribers. With QoS 1 and 2 it completes when a PUBACK would be sent, with the
   *     guarantees of docs/DELIVERY.md; with QoS 0 it is true, at once. Fails with a {@link PublishException}: with
   *     reason code 0x89 when 4,096 messages or 16 MiB of the application are pending, and otherwise as a client's
   *     publish would be refused
   * @throws IllegalArgumentException when the message breaks a limit that clients have, or the topic is not a topic
   *     name
   */
  public CompletableFuture<Boolean> publish(Message message) {
    return application().publish(message);
  }

  /**
   * Subscribes in the default tenant, without a connection, until the subscription or the node is closed. The listener gets the retained
   * messages first, and then every message that is accepted after this call has returned, once for each subscription that matches.
   *
   * <p>A message counts as delivered once it is queued for the listener: a publisher's PUBACK does not wait for the
   * listener.
   *
   * @param filter a topic filter, not a shared subscription
   * @param listener called on a thread of its own, for one message after the other, in the order of docs/DELIVERY.md;
   *     its exceptions are logged
   * @throws IllegalArgumentException when the filter is not valid
   * @throws IllegalStateException when there are 1,000 subscriptions, or this one cannot be stored
   */
  public Subscription subscribe(String filter, Consumer<Message> listener) {
    return application().subscribe(filter, listener);
  }

  /**
   * Lists clients of the default tenant: connected ones and those with a durable session.
   *
   * @param prefix the beginning of their client identifiers; empty for all
   * @param after the last client identifier of the previous page; empty for the first page
   * @param max the size of the page, 1 to 1,000
   */
  public List<Client> clients(String prefix, String after, int max) {
    return open().sessions().list(Publisher.DEFAULT_TENANT, prefix, after, max).stream()
        .map(row -> new Client(row.clientId(), row.user(), row.connected(), row.subscriptions(), row.messages()))
        .toList();
  }

  /** Disconnects a client of the default tenant with 0x98; its session lasts until its expiry. Answers whether it was connected. */
  public boolean disconnect(String clientId) {
    return open().sessions().disconnect(Publisher.DEFAULT_TENANT, clientId);
  }

  /**
   * A client that is connected or has a durable session.
   *
   * @param user empty for one without a user name
   * @param subscriptions of a durable session; 0 for others, whose subscriptions are not counted
   * @param messages that wait for it
   */
  public record Client(String clientId, String user, boolean connected, int subscriptions, int messages) {}

  /**
   * Sends clients to another server before the node is closed: connected ones at this pace, new ones at once. The node
   * is not ready any more. Clients of MQTT 5 get DISCONNECT or CONNACK with 0x9C; those of MQTT 3 are closed or
   * refused.
   *
   * @param serverReference the server that clients of MQTT 5 are sent to; empty for {@code
   *     dunlin.drain.server-reference}
   * @param connectionsPerSecond at least 1
   */
  public void drain(String serverReference, int connectionsPerSecond) {
    open().frontend().bean().drain(serverReference, connectionsPerSecond);
  }

  /** Ends {@link #drain}: clients are served again. */
  public void stopDrain() {
    open().frontend().bean().stopDrain();
  }

  /**
   * Stops the node: clients get DISCONNECT 0x8B, or 0x9C where there is a server to send them to; stores are closed. A node of a
   * cluster hands over what it leads before. Takes at most about twenty seconds, and usually one or two. Idempotent.
   */
  @Override
  public void close() {
    closed = true;
    node.close();
    if (temporary != null) temporary.delete();
  }

  /** Configures a node. Not thread-safe. */
  public static final class Builder {
    private final Map<String, String> values = new LinkedHashMap<>();
    private @Nullable Consumer<RuntimeException> onFailure;
    private final List<EnhancedAuthenticator> methods = new ArrayList<>();
    private @Nullable Authenticator authenticator;
    private @Nullable Authorizer authorizer;
    private @Nullable MeterRegistry registry;
    private @Nullable Consumer<ConnectionEvent> listener;
    private TierConnections connections = TierConnections.direct();
    private Surroundings surroundings = Surroundings.machine();
    private boolean inMemory;

    private Builder() {}

    /** Sets a {@code dunlin.*} setting, spelled as everywhere else; see docs/configuration.md. */
    public Builder set(String key, String value) {
      values.put(Objects.requireNonNull(key), Objects.requireNonNull(value));
      return this;
    }

    /** The directory for everything that must survive a restart; {@code dunlin.data-dir}. */
    public Builder dataDirectory(Path directory) {
      inMemory = false;
      return set(NodeSettings.DATA_DIR.key(), directory.toString());
    }

    /** Makes nothing durable: the node uses a temporary directory without fsync, and deletes it when it is closed. */
    public Builder inMemory() {
      inMemory = true;
      return this;
    }

    /** The port that MQTT over TCP listens on, 0 for any free one; {@code dunlin.listeners.tcp.port}. */
    public Builder tcpPort(int port) {
      return set(ListenerKeys.PORT.key("tcp"), Integer.toString(port));
    }

    /**
     * Authenticates clients by their user name and password. Clients without them are then refused, unless {@code
     * dunlin.auth.anonymous} is set. Not together with {@code dunlin.auth.password-file}.
     */
    public Builder authenticator(Authenticator decides) {
      authenticator = Objects.requireNonNull(decides);
      return this;
    }

    /** Adds a method of enhanced authentication for clients of MQTT 5; there may be several. */
    public Builder enhancedAuthenticator(EnhancedAuthenticator method) {
      methods.add(Objects.requireNonNull(method));
      return this;
    }

    /** Says what each client may do. Without one, and without {@code dunlin.auth.acl-file}, clients may do everything. */
    public Builder authorizer(Authorizer decides) {
      authorizer = Objects.requireNonNull(decides);
      return this;
    }

    /**
     * Adds the node's meters to the application's registry, until the node is closed. Two nodes need two registries:
     * their meters have the same names.
     */
    public Builder meterRegistry(MeterRegistry applications) {
      registry = Objects.requireNonNull(applications);
      return this;
    }

    /**
     * Sets a listener for connects, takeovers and disconnects. It is called on a thread of its own, one event after the
     * other, in order for each connection. When it does not keep up, 10,000 events wait; after that it learns how many
     * it has missed. Its exceptions are logged. When the node is closed, it has a second for the remaining events.
     */
    public Builder connectionListener(Consumer<ConnectionEvent> told) {
      listener = Objects.requireNonNull(told);
      return this;
    }

    /**
     * Sets a listener that is called, on any thread, when a store has failed and the node cannot serve any more; the
     * application should close it. By default this is only logged.
     */
    public Builder onFailure(Consumer<RuntimeException> listener) {
      onFailure = listener;
      return this;
    }

    /**
     * Replaces the node's wall clock, its ways to other nodes, or the speed of its disk. For tests only: the test kit uses it (docs/testing.md), and it may
     * change with any version.
     */
    public Builder surroundings(Surroundings replaced) {
      surroundings = Objects.requireNonNull(replaced);
      return this;
    }

    /** For tests that put something between the tiers. */
    Builder tierConnections(TierConnections between) {
      connections = between;
      return this;
    }

    /**
     * Starts the node. Returns when clients can connect, or for a store node when it belongs to its cluster.
     *
     * @throws RuntimeException when a setting is wrong, a port is in use, or the data directory is not usable; the
     *     message is one sentence with the reason, and nothing is left running
     */
    public Dunlin build() {
      Map<String, String> effective = new LinkedHashMap<>(values);
      effective.putIfAbsent(NodeSettings.ADMIN_PORT.key(), "-1");
      TemporaryDirectory temporary = null;
      if (inMemory) {
        temporary = TemporaryDirectory.create();
        effective.put(NodeSettings.DATA_DIR.key(), temporary.path().toString());
        effective.put(StoreSettings.FSYNC.key(), "false");
      }
      try {
        Settings settings = Settings.load(NodeSettings.ALL, SettingSource.map("the builder", effective));
        Authenticators authenticators = new Authenticators(Optional.ofNullable(authenticator), methods, Optional.ofNullable(authorizer));
        Embedding embedding = new Embedding(authenticators, registry, listener, onFailure == null ? _ -> {} : onFailure, connections, surroundings);
        return new Dunlin(Node.start(settings, embedding), temporary);
      } catch (RuntimeException e) {
        if (temporary != null) temporary.delete();
        throw e;
      }
    }
  }

  /** A directory that is deleted with its node. */
  private record TemporaryDirectory(Path path) {
    static TemporaryDirectory create() {
      try {
        return new TemporaryDirectory(Files.createTempDirectory("dunlin"));
      } catch (IOException e) {
        throw new UncheckedIOException("no temporary directory for a node in memory", e);
      }
    }

    void delete() {
      if (!Files.exists(path)) return;
      List<Path> all = new ArrayList<>();
      try (var walk = Files.walk(path)) {
        walk.forEach(all::addFirst);
        for (Path one : all) Files.deleteIfExists(one);
      } catch (IOException e) {
        throw new UncheckedIOException("cannot delete " + path, e);
      }
    }
  }
}
