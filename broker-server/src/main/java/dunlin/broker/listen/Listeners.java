package dunlin.broker.listen;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import com.sun.management.UnixOperatingSystemMXBean;
import dunlin.broker.codec.DecoderLimits;
import dunlin.broker.limit.AddressRange;
import dunlin.broker.tls.Handshakes;
import dunlin.runtime.metrics.NodeBeans;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** All listeners of a node. */
public final class Listeners implements AutoCloseable {
  /*
   * Owner: the thread that composes the node opens, stops and closes all; operators close one and open it again, on their threads. These
   * hold the lock. Any thread calls take and giveBack.
   * Bounds: connections of all listeners together: the file descriptors that are left, less a tenth.
   * Failure: a listener that cannot be opened is a ListenerException that names its key; the caller closes those that
   * are already open.
   */
  private static final Logger log = LoggerFactory.getLogger(Listeners.class);
  private static final int CONNECTIONS_LEAST = 16;

  private final ListeningSettings settings;
  private final List<Listener> all = new ArrayList<>();
  private final AtomicInteger connections = new AtomicInteger();
  private final int connectionsMax;
  private final Handshakes handshakes;

  /** How listeners are bound; null before they are opened, and after the node has stopped listening. */
  @GuardedBy("this")
  private @Nullable Binding binding;

  private record Binding(EventLoopGroup group, boolean mayListenAnywhere, Function<Listener, ChannelHandler> mqtt) {}

  /** @throws ListenerException if a listener's settings or files cannot be used */
  public Listeners(ListeningSettings settings, DecoderLimits limits, MeterRegistry meters) {
    this(settings, limits, meters, connectionsMax());
  }

  Listeners(ListeningSettings settings, DecoderLimits limits, MeterRegistry meters, int connectionsMax) {
    this.settings = settings;
    this.connectionsMax = connectionsMax;
    this.handshakes = new Handshakes(settings.handshakes(), meters);
    try {
      for (ListenerSettings one : settings.listeners()) all.add(new Listener(one, this, limits, meters));
    } catch (RuntimeException e) {
      close();
      throw e;
    }
    Gauge.builder("dunlin.connections.max", this, l -> l.connectionsMax)
        .description("Connections that the process has file descriptors for")
        .register(meters);
  }

  /** The maximum number of connections: the free file descriptors, less a tenth for files. */
  private static int connectionsMax() {
    if (!(ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system)) return Integer.MAX_VALUE;
    long limit = system.getMaxFileDescriptorCount();
    if (limit <= 0) return Integer.MAX_VALUE;
    return Math.clamp(limit - limit / 10 - system.getOpenFileDescriptorCount(), CONNECTIONS_LEAST, Integer.MAX_VALUE);
  }

  /** Counts a connection of any listener; false if the process has its maximum. */
  boolean take() {
    if (connections.incrementAndGet() <= connectionsMax) return true;
    connections.decrementAndGet();
    return false;
  }

  void giveBack() {
    connections.decrementAndGet();
  }

  /** The TLS handshakes of all listeners. */
  Handshakes handshakes() {
    return handshakes;
  }

  SocketAddress unixAddress(String path) {
    return settings.transport().unixAddress(path);
  }

  // -------------------------------------------------------------------------------------------------------- before anything is open

  /**
   * Checks whether all listeners can be opened, without a lasting effect. That is much cheaper than to find out after
   * the stores were opened.
   *
   * @throws ListenerException if one cannot be opened
   */
  public static void check(ListeningSettings settings, boolean mayListenAnywhere) {
    for (Runnable step : steps(settings, mayListenAnywhere, true)) step.run();
  }

  /** All problems that {@link #check} would report; if a step depends on another one, only the first problem. */
  public static List<String> problems(ListeningSettings settings, boolean mayListenAnywhere, boolean ports) {
    List<String> problems = new ArrayList<>();
    for (Runnable step : steps(settings, mayListenAnywhere, ports)) {
      try {
        step.run();
      } catch (ListenerException problem) {
        problems.add(String.valueOf(problem.getMessage()));
      }
    }
    return problems;
  }

  /**
   * The separate checks.
   *
   * @param ports whether to check ports and socket files as well, which are free only while the node does not run
   */
  private static List<Runnable> steps(ListeningSettings settings, boolean mayListenAnywhere, boolean ports) {
    List<Runnable> steps = new ArrayList<>();
    steps.add(settings.transport()::check);
    if (settings.listeners().isEmpty()) {
      steps.add(
          () -> {
            throw new ListenerException("no listener is enabled (dunlin.listeners.<name>.enabled): no client could connect");
          });
    }
    for (ListenerSettings one : settings.listeners()) {
      boolean unix = one.type() == ListenerSettings.Type.UNIX;
      steps.add(() -> ranges(one));
      if (one.type().encrypted()) {
        steps.add(() -> checkTls(one));
        steps.add(() -> TlsContext.check(one));
      }
      if (one.type().webSocket()) {
        steps.add(() -> checkPath(one));
        steps.add(() -> WebOrigins.of(one));
      }
      if (unix && ports) steps.add(() -> clear(one));
      if (!unix) {
        steps.add(
            () -> {
              InetAddress address = checkedAddress(one, mayListenAnywhere);
              if (ports) checkFree(one, address);
            });
      }
    }
    return steps;
  }

  private static void checkPath(ListenerSettings one) {
    if (!one.address().path().startsWith("/")) {
      throw new ListenerException("the path " + one.address().path() + " (" + one.key("path") + ") does not begin with a slash");
    }
  }

  private static void checkTls(ListenerSettings one) {
    ListenerSettings.TlsKeys keys = one.tls().keys();
    if (keys.store().isPresent() && (keys.certificate().isPresent() || keys.key().isPresent())) {
      throw new ListenerException(
          "%s has certificate and key, so %s and %s must not be set".formatted(one.key("tls.key-store"), one.key("tls.certificate"), one.key("tls.key")));
    }
    ListenerSettings.TlsClients clients = one.tls().clients();
    if (clients.auth() != ListenerSettings.ClientAuth.NONE) return;
    if (clients.identity() != ListenerSettings.Identity.NONE) {
      throw new ListenerException(
          one.key("tls.identity") + " takes a name from clients' certificates, but " + one.key("tls.client-auth") + " asks for none");
    }
    if (clients.ocsp().isPresent()) {
      throw new ListenerException(one.key("tls.client-ocsp") + " is about clients' certificates, but " + one.key("tls.client-auth") + " asks for none");
    }
    if (clients.revoked().isPresent()) {
      throw new ListenerException(one.key("tls.client-crl") + " is about clients' certificates, but " + one.key("tls.client-auth") + " asks for none");
    }
  }

  /** The networks of a listener's trusted proxies. */
  static List<AddressRange> ranges(ListenerSettings one) {
    List<AddressRange> ranges = new ArrayList<>();
    for (String text : one.proxy().from()) {
      ranges.add(
          AddressRange.parse(text)
              .orElseThrow(
                  () -> new ListenerException(text + " (" + one.key("proxy-protocol-from") + ") is not an address or a network")));
    }
    return ranges;
  }

  /** Resolves a listener's address; only here is decided whether other machines may connect. */
  private static InetAddress checkedAddress(ListenerSettings one, boolean mayListenAnywhere) {
    InetAddress address;
    try {
      address = InetAddress.getByName(one.address().host());
    } catch (UnknownHostException e) {
      throw new ListenerException("cannot listen on " + where(one) + " (" + one.key("host") + "): unknown host", e);
    }
    boolean certified = one.type().encrypted() && one.tls().clients().auth() == ListenerSettings.ClientAuth.REQUIRED;
    if (!address.isLoopbackAddress() && !mayListenAnywhere && !certified) {
      throw new ListenerException(
          "will not listen on " + where(one) + " (" + one.key("host") + "): it is not a loopback address and everybody could"
              + " connect; set dunlin.auth.password-file or dunlin.auth.provider, or allow that with dunlin.auth.anonymous=true");
    }
    return address;
  }

  private static void checkFree(ListenerSettings one, InetAddress address) {
    if (one.address().port() == 0) return;
    try (ServerSocket probe = new ServerSocket()) {
      probe.setReuseAddress(true);
      probe.bind(new InetSocketAddress(address, one.address().port()));
    } catch (IOException e) {
      throw cannotListen(one, e);
    }
  }

  private static UnixSocketFile clear(ListenerSettings one) {
    if (one.address().path().isEmpty()) {
      throw new ListenerException("listener " + one.name() + " needs " + one.key("path") + ", the file of its socket");
    }
    try {
      UnixSocketFile file = new UnixSocketFile(Path.of(one.address().path()));
      file.clear();
      return file;
    } catch (IOException | InvalidPathException e) {
      throw cannotListen(one, e);
    }
  }

  private static String where(ListenerSettings one) {
    return one.type() == ListenerSettings.Type.UNIX ? one.address().path() : one.address().host() + ":" + one.address().port();
  }

  private static ListenerException cannotListen(ListenerSettings one, Throwable cause) {
    String keys = one.type() == ListenerSettings.Type.UNIX ? one.key("path") : one.key("host") + ", " + one.key("port");
    return new ListenerException("cannot listen on " + where(one) + " (" + keys + "): " + cause.getMessage(), cause);
  }

  // ---------------------------------------------------------------------------------------------------------------------- listening

  /**
   * Binds all listeners: from now on clients can connect.
   *
   * @param mqtt creates the last handler of a connection that a listener has accepted; called on its event loop
   */
  public synchronized void open(EventLoopGroup group, boolean mayListenAnywhere, Function<Listener, ChannelHandler> mqtt) {
    Binding opened = new Binding(group, mayListenAnywhere, mqtt);
    binding = opened;
    for (Listener listener : all) {
      bind(listener, opened);
      log.info("Listener {}: {} on {}", listener.getName(), listener.getType(), listener.getAddress());
    }
    log.info("The limit of file descriptors allows at most {} connections", connectionsMax);
  }

  /**
   * Opens a listener again that an operator has closed.
   *
   * @throws ListenerException if its address cannot be bound
   */
  synchronized void openAgain(Listener listener) {
    if (binding == null) throw new ListenerException("listener " + listener.getName() + " cannot be opened: the node does not listen yet, or is stopping");
    if (listener.isAccepting()) return;
    bind(listener, binding);
    log.info("An operator has opened listener {} again, on {}", listener.getName(), listener.getAddress());
  }

  /** Stops accepting connections at one listener. */
  synchronized void close(Listener listener) {
    if (!listener.isAccepting()) return;
    unbind(listener);
    log.info("An operator has closed listener {}; its {} clients stay", listener.getName(), listener.getConnections());
  }

  private void bind(Listener listener, Binding how) {
    ListenerSettings one = listener.settings();
    boolean unix = one.type() == ListenerSettings.Type.UNIX;
    SocketAddress address;
    if (unix) {
      clear(one);
      address = unixAddress(one.address().path());
    } else {
      address = new InetSocketAddress(checkedAddress(one, how.mayListenAnywhere()), listener.portToBind());
    }
    ServerBootstrap bootstrap =
        new ServerBootstrap()
            .group(how.group())
            .channel(settings.transport().serverChannel(one.type()))
            .option(ChannelOption.SO_BACKLOG, one.address().backlog())
            .handler(new ListenerGate(listener))
            .childOption(
                ChannelOption.WRITE_BUFFER_WATER_MARK,
                new WriteBufferWaterMark(settings.outboundMax() / 2, settings.outboundMax()))
            .childHandler(
                new ChannelInitializer<>() {
                  @Override
                  protected void initChannel(Channel accepted) {
                    listener.assemble(accepted, how.mqtt().apply(listener));
                  }
                });
    if (!unix) bootstrap.option(ChannelOption.SO_REUSEADDR, true).childOption(ChannelOption.TCP_NODELAY, true);
    try {
      listener.listens(bootstrap.bind(address).syncUninterruptibly().channel());
      if (unix) new UnixSocketFile(Path.of(one.address().path())).protect();
    } catch (RuntimeException e) {
      throw cannotListen(one, e);
    } catch (Exception e) { // bind() rethrows the checked BindException unchecked
      throw cannotListen(one, e);
    }
  }

  public Optional<Listener> byName(String name) {
    return all.stream().filter(listener -> listener.getName().equals(name)).findFirst();
  }

  public void show(NodeBeans beans) {
    for (Listener listener : all) beans.register("Listener", Map.of("name", listener.getName()), listener);
  }

  /** Logs how many refusals were not logged; called about once a second. */
  public void flush() {
    for (Listener listener : all) listener.flush();
  }

  /** Reloads changed certificates and revocation lists. */
  public void reloadCertificates() {
    for (Listener listener : all) {
      TlsContext tls = listener.tls();
      if (tls != null) tls.reload();
    }
  }

  /** Stops accepting connections. Idempotent. */
  public synchronized void stop() {
    binding = null;
    all.forEach(Listeners::unbind);
  }

  private static void unbind(Listener listener) {
    Channel channel = listener.channel();
    if (channel == null || !channel.isOpen()) return;
    channel.close().awaitUninterruptibly(1_000);
    if (listener.settings().type() != ListenerSettings.Type.UNIX) return;
    try {
      new UnixSocketFile(Path.of(listener.settings().address().path())).delete();
    } catch (IOException e) {
      log.warn("The socket file of listener {} could not be removed", listener.getName(), e);
    }
  }

  /** Releases what new connections need. */
  @Override
  public void close() {
    stop();
    for (Listener listener : all) {
      TlsContext tls = listener.tls();
      if (tls != null) tls.close();
    }
    handshakes.close();
  }
}
