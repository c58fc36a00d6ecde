package dunlin.broker.listen;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Refuses clients of a listener whose certificates are revoked, and ends connections whose certificates become so. */
final class RevocationWatch implements ChannelFutureListener {
  /*
   * Owner: one thread at a time calls reload; event loops call admit. A connection is noted before the lists are looked at, and the lists
   * are replaced before the connections are looked through, so that none is missed.
   * Bounds: the connections of the listener; FILE_MAX bytes of lists, which is some 100,000 certificates.
   * Failure: lists that cannot be used prevent the start. Later, the old ones stay in force, also when they are older than they should be;
   * that is logged once.
   */
  private static final Logger log = LoggerFactory.getLogger(RevocationWatch.class);
  static final int FILE_MAX = 4 << 20;

  /** Tells the last handler of a connection that the client's certificate was revoked. */
  static final Object REVOKED = new Object();

  private final ListenerSettings settings;
  private final Path path;
  private final Map<Channel, List<X509Certificate>> connected = new ConcurrentHashMap<>();
  private final Counter reloads;
  private final Counter failedReloads;
  private final Consumer<Channel> ending;

  private byte[] content;
  private List<X509Certificate> authorities;

  /** The last logged problem, so that it is not logged every second. */
  private String failure = "";

  private volatile RevocationLists lists;

  /** @throws ListenerException that names the setting of a file that is missing or cannot be used */
  RevocationWatch(ListenerSettings settings, Path path, List<X509Certificate> authorities, MeterRegistry meters) {
    this.settings = settings;
    this.path = path;
    this.authorities = authorities;
    this.content = read(settings, path);
    this.lists = lists(settings, path, content, authorities);
    this.reloads = counter(meters, "ok");
    this.failedReloads = counter(meters, "failed");
    this.ending = ending(settings, meters);
    Gauge.builder("dunlin.listener.tls.crl-seconds", this, RevocationWatch::secondsToNextUpdate)
        .description("Seconds until a revocation list in use should have been replaced; NaN if none of them says when")
        .tag("listener", settings.name())
        .register(meters);
  }

  /** Ends connections whose client's certificate was revoked, and counts them. */
  static Consumer<Channel> ending(ListenerSettings settings, MeterRegistry meters) {
    Counter ended =
        Counter.builder("dunlin.listener.tls.revoked")
            .description("Connections that were ended because the client's certificate was revoked")
            .tag("listener", settings.name())
            .register(meters);
    return connection -> {
      ended.increment();
      connection.pipeline().fireUserEventTriggered(REVOKED);
    };
  }

  private Counter counter(MeterRegistry meters, String result) {
    return Counter.builder("dunlin.listener.tls.crl-reloads")
        .description("Times that a listener's revocation lists had changed and were read again")
        .tag("listener", settings.name())
        .tag("result", result)
        .register(meters);
  }

  /** @throws ListenerException under the same conditions as the constructor */
  static void check(ListenerSettings settings, Path path, List<X509Certificate> authorities) {
    lists(settings, path, read(settings, path), authorities);
  }

  private static byte[] read(ListenerSettings settings, Path path) {
    return TlsFiles.read(settings, "tls.client-crl", path, FILE_MAX);
  }

  private static RevocationLists lists(ListenerSettings settings, Path path, byte[] content, List<X509Certificate> authorities) {
    try {
      return RevocationLists.read(content, authorities);
    } catch (GeneralSecurityException e) {
      throw TlsFiles.unusable(settings, "tls.client-crl", path, e);
    }
  }

  private double secondsToNextUpdate() {
    Instant next = lists.nextUpdate();
    return next.equals(Instant.MAX) ? Double.NaN : Duration.between(Instant.now(), next).toSeconds();
  }

  /** Notes a connection after its handshake, also a resumed one; false if its client's certificate is revoked. */
  boolean admit(Channel connection, List<X509Certificate> chain) {
    if (chain.isEmpty()) return true;
    connected.put(connection, chain);
    connection.closeFuture().addListener(this);
    return !lists.has(chain);
  }

  @Override
  public void operationComplete(ChannelFuture closed) {
    connected.remove(closed.channel());
  }

  /** Reads the lists if their file or the authorities have changed, and ends the connections that they concern. */
  void reload(List<X509Certificate> authoritiesNow) {
    try {
      byte[] now = read(settings, path);
      if (Arrays.equals(now, content) && authoritiesNow.equals(authorities)) {
        failure = "";
        return;
      }
      content = now;
      authorities = authoritiesNow;
      RevocationLists next = lists(settings, path, now, authoritiesNow);
      failure = "";
      lists = next;
      reloads.increment();
      log.info("Listener {} uses new revocation lists, with {} certificates; {} connections ended", settings.name(), next.revoked().size(), end(next));
    } catch (ListenerException e) {
      String message = String.valueOf(e.getMessage());
      if (message.equals(failure)) return;
      failure = message;
      failedReloads.increment();
      log.warn("Listener {} keeps its old revocation lists: {}", settings.name(), message);
    }
  }

  private int end(RevocationLists next) {
    List<Channel> revoked = connected.entrySet().stream().filter(each -> next.has(each.getValue())).map(Map.Entry::getKey).toList();
    for (Channel each : revoked) {
      connected.remove(each); // counted once
      ending.accept(each);
    }
    return revoked.size();
  }
}
