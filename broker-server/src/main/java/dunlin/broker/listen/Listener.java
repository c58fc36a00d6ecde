package dunlin.broker.listen;

import dunlin.broker.auth.Peer;
import dunlin.broker.codec.DecoderLimits;
import dunlin.broker.codec.ProtocolVersion;
import dunlin.broker.limit.AddressCounts;
import dunlin.broker.limit.AddressRange;
import dunlin.broker.limit.RateBucket;
import dunlin.broker.tls.HandshakeGate;
import dunlin.broker.tls.Handshakes;
import dunlin.broker.tls.OcspVerdict;
import dunlin.broker.tls.OcspWatch;
import dunlin.model.ReasonCode;
import dunlin.runtime.EventLine;
import dunlin.runtime.LineLimit;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.haproxy.HAProxyMessageDecoder;
import io.netty.handler.ssl.SslHandler;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.ExtendedSSLSession;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.StandardConstants;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** One listener: admits connections, assembles the handlers in front of MQTT, and counts. */
public final class Listener implements ListenerMXBean, ChannelFutureListener {
  /*
   * Owner: the event loop that accepts calls admit; any thread calls the rest.
   * Bounds: its settings, and REFUSAL_LINES_A_SECOND lines in the log. A connection is refused before anything is
   * allocated for it, so it only costs what it costs the operating system.
   * Failure: a refused connection is closed without an answer, because MQTT has none before CONNECT.
   */
  private static final Logger events = LoggerFactory.getLogger("dunlin.events");
  private static final int REFUSAL_LINES_A_SECOND = 5;

  private final ListenerSettings settings;
  private final Listeners all;
  private final DecoderLimits decoderLimits;
  private final @Nullable TlsContext tls;
  private final @Nullable RateBucket rate;
  private final @Nullable AddressCounts addresses;
  private final List<AddressRange> proxies;
  private final WebOrigins origins;
  private final AtomicInteger connections = new AtomicInteger();
  private final LineLimit refusalLines = new LineLimit(REFUSAL_LINES_A_SECOND, System::nanoTime);
  private final Map<ListenerRefusal, Counter> refused = new EnumMap<>(ListenerRefusal.class);

  /** Set when the listener is bound, also when it is bound again. */
  private volatile @Nullable Channel channel;

  /** The port of the last time that it was bound, also when it is closed; 0 before, and for a Unix domain socket. */
  private volatile int lastPort;

  Listener(ListenerSettings settings, Listeners all, DecoderLimits common, MeterRegistry meters) {
    this.settings = settings;
    this.all = all;
    var limits = settings.limits();
    this.decoderLimits = limits.packetMax() == 0 ? common : common.withPacketMax(limits.packetMax());
    this.tls = settings.type().encrypted() ? TlsContext.load(settings, meters) : null;
    this.rate = limits.connectRate() == 0 ? null : new RateBucket(limits.connectRate(), limits.connectBurst(), System::nanoTime);
    this.addresses = limits.connectionsPerAddressMax() == 0 ? null : new AddressCounts(limits.connectionsPerAddressMax());
    this.origins = WebOrigins.of(settings);
    this.proxies = settings.proxy().header() ? Listeners.ranges(settings) : List.of();
    for (ListenerRefusal reason : ListenerRefusal.values()) {
      refused.put(
          reason,
          Counter.builder("dunlin.listener.refused")
              .description("Connections that a listener has closed before MQTT began")
              .tag("listener", settings.name())
              .tag("reason", reason.label())
              .register(meters));
    }
    Gauge.builder("dunlin.listener.connections", connections, AtomicInteger::get)
        .description("Open connections of a listener")
        .tag("listener", settings.name())
        .register(meters);
  }

  ListenerSettings settings() {
    return settings;
  }

  public DecoderLimits decoderLimits() {
    return decoderLimits;
  }

  @Nullable TlsContext tls() {
    return tls;
  }

  WebOrigins origins() {
    return origins;
  }

  public boolean serves(ProtocolVersion version) {
    return settings.versions().contains(version);
  }

  // --------------------------------------------------------------------------------------------------------------
  // admission

  /** Admits and counts a connection that was just accepted, or answers why it must be closed. */
  @Nullable ListenerRefusal admit(Channel accepted) {
    InetAddress address = addressOf(accepted.remoteAddress());
    boolean unix = settings.type() == ListenerSettings.Type.UNIX;
    if (settings.proxy().header() && !unix && !isProxy(address)) return ListenerRefusal.PROXY_ADDRESS;
    if (connections.get() >= settings.limits().connectionsMax()) return ListenerRefusal.CONNECTIONS;
    if (rate != null && !rate.take()) return ListenerRefusal.RATE;
    if (!all.take()) return ListenerRefusal.PROCESS;
    boolean counted = addresses == null || unix || settings.proxy().header();
    if (!counted && (address == null || !Objects.requireNonNull(addresses).add(address))) {
      all.giveBack();
      return ListenerRefusal.ADDRESS;
    }
    connections.incrementAndGet();
    return null;
  }

  private boolean isProxy(@Nullable InetAddress address) {
    return address != null && proxies.stream().anyMatch(range -> range.contains(address));
  }

  /**
   * Counts a connection for the client's address that a proxy has transmitted; false if that address has its maximum of
   * connections.
   */
  boolean admitProxied(SocketAddress source) {
    InetAddress address = addressOf(source);
    return addresses == null || address == null || addresses.add(address);
  }

  /**
   * Called when an admitted connection is closed. The listener itself is the callback, so that no object is needed for
   * each connection.
   */
  @Override
  public void operationComplete(ChannelFuture closed) {
    connections.decrementAndGet();
    all.giveBack();
    if (addresses == null || settings.type() == ListenerSettings.Type.UNIX) return;
    InetAddress address =
        addressOf(settings.proxy().header() ? ProxyFront.sourceOf(closed.channel()) : closed.channel().remoteAddress());
    if (address != null) addresses.remove(address);
  }

  private static @Nullable InetAddress addressOf(@Nullable SocketAddress address) {
    return address instanceof InetSocketAddress internet ? internet.getAddress() : null;
  }

  void refused(ListenerRefusal reason) {
    Objects.requireNonNull(refused.get(reason)).increment();
  }

  /** Counts and logs a refusal: a few lines a second, with the number of those left out. */
  void refused(ListenerRefusal reason, Channel connection, String explanation) {
    refused(reason);
    if (!refusalLines.admits()) return;
    EventLine.of(events, Level.WARN, "connection-refused")
        .word("listener", settings.name())
        .word("reason", reason.label())
        .text("address", String.valueOf(peerOf(connection).address()))
        .text("explanation", explanation)
        .number("untold", refusalLines.leftOut())
        .write();
  }

  /** Logs how many lines were left out; called about once a second. */
  void flush() {
    long untold = refusalLines.leftOut();
    if (untold > 0) EventLine.of(events, Level.WARN, "connection-refused").word("listener", settings.name()).number("untold", untold).write();
  }

  // ------------------------------------------------------------------------------------------------------- the
  // handlers in front of MQTT

  /** Adds the handlers that turn a connection's bytes into those of MQTT; plain TCP has only the last handler. */
  void assemble(Channel accepted, ChannelHandler mqtt) {
    ChannelPipeline pipeline = accepted.pipeline();
    if (settings.proxy().header()) {
      pipeline.addLast(new HAProxyMessageDecoder(ProxyFront.EXTENSIONS_MAX), new ProxyFront(this));
    }
    if (tls != null) {
      Handshakes handshakes = all.handshakes();
      HandshakeGate gate =
          new HandshakeGate(
              handshakes,
              () -> addressOf(accepted),
              () -> refused(ListenerRefusal.TLS_HANDSHAKES, accepted, "there are too many TLS handshakes (dunlin.tls.handshakes-max, handshakes-per-address-max)"));
      Executor steps = step -> handshakes.run(sourceOf(accepted), step, accepted);
      pipeline.addLast(gate, tls.newHandler(accepted.alloc(), steps), new TlsFront(this));
    }
    if (settings.type().webSocket()) pipeline.addLast(WebSocketUpgrade.decoder(), new WebSocketUpgrade(this));
    pipeline.addLast(mqtt);
  }

  /** The number of a client's address, for turns. */
  private static long sourceOf(Channel connection) {
    InetAddress address = addressOf(addressOf(connection));
    return address == null ? 0 : AddressCounts.keyOf(address);
  }

  /** The remote end of one of its connections. */
  public Peer peerOf(Channel connection) {
    SocketAddress address = addressOf(connection);
    if (address == null) address = all.unixAddress(settings.address().path()); // clients of Unix domain sockets have no name
    if (tls == null) return Peer.at(address, settings.name());
    List<X509Certificate> certificates = certificatesOf(connection);
    ListenerSettings.Identity identity = settings.tls().clients().identity();
    Optional<String> name = certificates.isEmpty() ? Optional.empty() : TlsIdentity.nameOf(certificates.getFirst(), identity);
    Optional<String> none = Optional.empty();
    return new Peer(
        address, settings.name(), true, serverNameOf(connection), certificates, identity.userName() ? name : none, identity.userName() ? none : name);
  }

  /** The client's address, also behind a proxy that transmits it; null for a Unix domain socket. */
  public static @Nullable SocketAddress addressOf(Channel connection) {
    SocketAddress source = ProxyFront.sourceOf(connection);
    return source != null ? source : connection.remoteAddress();
  }

  /** Notes a connection after its TLS handshake; false if its client's certificate is revoked. */
  boolean admitCertified(Channel connection) {
    RevocationWatch revocations = tls == null ? null : tls.revocations();
    return revocations == null || revocations.admit(connection, certificatesOf(connection));
  }

  /** What asks a responder about certificates of clients; null if there is none. */
  @Nullable OcspWatch responder() {
    return tls == null ? null : tls.responder();
  }

  /** The verdict of the responder on a connection after its handshake; at once if its client has shown no certificate. */
  CompletableFuture<OcspVerdict> ask(OcspWatch responder, Channel connection) {
    List<X509Certificate> chain = certificatesOf(connection);
    return chain.isEmpty() ? CompletableFuture.completedFuture(OcspVerdict.GOOD) : responder.admit(connection, chain, sourceOf(connection));
  }

  /** The name by which the client has called the server; empty text if it is none that can be. */
  private static Optional<String> serverNameOf(Channel connection) {
    SslHandler handler = connection.pipeline().get(SslHandler.class);
    if (handler == null || !(handler.engine().getSession() instanceof ExtendedSSLSession session)) return Optional.empty();
    try {
      return session.getRequestedServerNames().stream()
          .filter(each -> each.getType() == StandardConstants.SNI_HOST_NAME)
          .map(each -> new String(each.getEncoded(), StandardCharsets.US_ASCII))
          .findFirst();
    } catch (IllegalArgumentException _) { // such as a dot at the end, which the JDK refuses in the handshake
      return Optional.of("");
    }
  }

  private static List<X509Certificate> certificatesOf(Channel connection) {
    SslHandler handler = connection.pipeline().get(SslHandler.class);
    if (handler == null) return List.of(); // the connection has closed
    try {
      return Arrays.stream(handler.engine().getSession().getPeerCertificates()).map(X509Certificate.class::cast).toList();
    } catch (SSLPeerUnverifiedException _) {
      return List.of();
    }
  }

  /** Whether an event in a connection's pipeline says that its client's certificate was revoked. */
  public static boolean isRevocation(Object event) {
    return event.equals(RevocationWatch.REVOKED);
  }

  /** Whether client certificates determine a name. */
  public boolean takesNames() {
    return settings.tls().clients().identity() != ListenerSettings.Identity.NONE;
  }

  /**
   * Why a client with this certificate may not use this client identifier, or null if it may; the identifier may be
   * empty.
   */
  public static @Nullable ReasonCode refusal(Peer peer, String clientId) {
    if (peer.certificates().isEmpty()) return null;
    if (peer.userName().isEmpty() && peer.clientId().isEmpty()) return ReasonCode.NOT_AUTHORIZED; // the certificate lacks the name
    return peer.isAnother(clientId) ? ReasonCode.CLIENT_IDENTIFIER_NOT_VALID : null;
  }

  // ----------------------------------------------------------------------------------------------------------------- for operators

  void listens(Channel bound) {
    channel = bound;
    lastPort = Math.max(0, port());
  }

  /** The port to bind to: that of the settings, or if that is any free one, the one that clients know already. */
  int portToBind() {
    return settings.address().port() == 0 ? lastPort : settings.address().port();
  }

  @Nullable Channel channel() {
    return channel;
  }

  /** The port in use, or -1 if there is none: the listener is not bound, or is a Unix domain socket. */
  public int port() {
    Channel bound = channel;
    return bound != null && bound.localAddress() instanceof InetSocketAddress address ? address.getPort() : -1;
  }

  @Override
  public String getName() {
    return settings.name();
  }

  @Override
  public String getType() {
    return settings.type().name().toLowerCase(Locale.ROOT);
  }

  @Override
  public String getAddress() {
    if (settings.type() == ListenerSettings.Type.UNIX) return settings.address().path();
    int bound = port();
    return settings.address().host() + ":" + (bound < 0 ? portToBind() : bound);
  }

  @Override
  public boolean isAccepting() {
    Channel bound = channel;
    return bound != null && bound.isOpen();
  }

  @Override
  public void open() {
    try {
      all.openAgain(this);
    } catch (ListenerException refused) {
      throw new IllegalStateException(refused.getMessage()); // a JMX client need not have the class
    }
  }

  @Override
  public void close() {
    all.close(this);
  }

  @Override
  public int getConnections() {
    return connections.get();
  }

  @Override
  public Map<String, Long> getRefused() {
    Map<String, Long> counts = new TreeMap<>();
    refused.forEach((reason, counter) -> counts.put(reason.label(), (long) counter.count()));
    return Collections.unmodifiableMap(counts);
  }

  @Override
  public String getCertificateExpiry() {
    return tls == null ? "" : tls.expiry().toString();
  }
}
