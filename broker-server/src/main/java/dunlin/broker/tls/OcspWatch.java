package dunlin.broker.tls;

import com.github.benmanes.caffeine.cache.AsyncCache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import dunlin.broker.http.ServiceClient;
import dunlin.broker.limit.Askers;
import dunlin.broker.limit.FairLines;
import dunlin.broker.tls.OcspVerdict.Status;
import dunlin.runtime.LineLimit;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.cert.CertificateEncodingException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Asks a responder about certificates of clients, before they are let in and again while they are connected. */
public final class OcspWatch implements ChannelFutureListener, AutoCloseable {
  /*
   * The responder is the one of the settings. What certificates say of responders is not looked at, so no client makes the broker ask an address.
   *
   * Owner: event loops call admit(); one thread calls tick(); Askers ask.
   * Bounds: the connections of the listener; REMEMBERED_MAX answers, by certificate; REQUESTS_MAX questions at a time, WAITING_MAX in lines by address, which take
   *   turns, the questions about connected clients in one of them; ANSWER_MAX bytes and the timeout of the settings for an answer.
   * Failure: a client about which there is no answer is refused, or let in if the settings say so. A client that is connected stays until an answer says that its
   *   certificate is revoked. A line a second says what was wrong.
   */
  private static final Logger log = LoggerFactory.getLogger(OcspWatch.class);
  private static final int REMEMBERED_MAX = 10_000;
  private static final int REQUESTS_MAX = 32;
  private static final int WAITING_MAX = 1_024;
  private static final int ANSWER_MAX = 64 << 10;
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(2);

  /** The line of questions about connected clients, which no address has. */
  private static final long CONNECTED = -1;

  private final OcspSettings settings;
  private final String listener;
  private final Supplier<List<X509Certificate>> authorities;
  private final Consumer<Channel> revoked;
  private final ServiceClient client;
  private final AsyncCache<ByteBuffer, OcspVerdict> verdicts;
  private final Map<Channel, Watched> connected = new ConcurrentHashMap<>();
  private final FairLines<Asking> lines = new FairLines<>(WAITING_MAX);
  private final Askers<Asking> askers = new Askers<>("dunlin-ocsp", REQUESTS_MAX, lines, next -> answer(next, decide(next)));
  private final LineLimit failureLines = new LineLimit(1, System::nanoTime);
  private final Map<Status, Counter> answers = new EnumMap<>(Status.class);
  private volatile boolean closed;

  /** @param fingerprint of the client's own certificate */
  private record Watched(List<X509Certificate> chain, ByteBuffer fingerprint) {
    private Watched {
      chain = List.copyOf(chain);
    }
  }

  private record Asking(List<X509Certificate> chain, long sinceNanos, CompletableFuture<OcspVerdict> verdict) {
    private Asking {
      chain = List.copyOf(chain);
    }
  }

  /**
   * @param listener its name
   * @param authorities those that certificates come from, as they are now
   * @param revoked ends a connection whose certificate was revoked
   */
  public OcspWatch(
      OcspSettings settings, String listener, Supplier<List<X509Certificate>> authorities, Consumer<Channel> revoked, MeterRegistry meters) {
    this.settings = settings;
    this.listener = listener;
    this.authorities = authorities;
    this.revoked = revoked;
    client = new ServiceClient(settings.timeout(), ANSWER_MAX);
    verdicts =
        Caffeine.newBuilder()
            .maximumSize(REMEMBERED_MAX)
            .executor(Runnable::run)
            .expireAfter(Expiry.<ByteBuffer, OcspVerdict>writing((_, verdict) -> verdict.status() == Status.UNKNOWN ? AFTER_FAILURE : settings.interval()))
            .buildAsync();
    for (Status each : Status.values()) {
      answers.put(
          each,
          Counter.builder("dunlin.listener.tls.ocsp")
              .description("Questions about certificates of clients to the responder of a listener, by what was answered; unknown: nothing that can be used")
              .tag("listener", listener)
              .tag("result", each.name().toLowerCase(Locale.ROOT))
              .register(meters));
    }
    Gauge.builder("dunlin.listener.tls.ocsp.waiting", lines, FairLines::size)
        .description("Questions about certificates of clients that wait to be asked")
        .tag("listener", listener)
        .register(meters);
  }

  /** Whether a client with this verdict is let in. */
  public boolean admits(OcspVerdict verdict) {
    return verdict.status() == Status.GOOD || (verdict.status() == Status.UNKNOWN && settings.failure() == OcspSettings.Failure.ALLOW);
  }

  /**
   * Notes a connection after its handshake, and asks about its client's certificate. The verdict comes on a thread of its own, or at once; it is never an exception.
   *
   * @param chain not empty
   * @param source number of the client's address, for turns
   */
  public CompletableFuture<OcspVerdict> admit(Channel connection, List<X509Certificate> chain, long source) {
    Watched watched = new Watched(chain, fingerprint(chain.getFirst()));
    connected.put(connection, watched);
    connection.closeFuture().addListener(this);
    return verdict(watched, source);
  }

  @Override
  public void operationComplete(ChannelFuture ended) {
    connected.remove(ended.channel());
  }

  private CompletableFuture<OcspVerdict> verdict(Watched watched, long source) {
    CompletableFuture<OcspVerdict> fresh = new CompletableFuture<>();
    CompletableFuture<OcspVerdict> known = verdicts.asMap().putIfAbsent(watched.fingerprint(), fresh);
    if (known != null) return known;
    Asking without = lines.offer(source, new Asking(watched.chain(), System.nanoTime(), fresh));
    if (without != null) answer(without, OcspVerdict.unknown("too many clients wait to be asked about"));
    askers.begin();
    return fresh;
  }

  private static ByteBuffer fingerprint(X509Certificate certificate) {
    try {
      return ByteBuffer.wrap(MessageDigest.getInstance("SHA-256").digest(certificate.getEncoded()));
    } catch (NoSuchAlgorithmException | CertificateEncodingException e) {
      throw new IllegalStateException(e); // each Java has it, and the certificate was verified
    }
  }

  /** Asks again about connected clients whose answers are too old, and ends those whose certificates were revoked. Must be called about once a second. */
  public void tick() {
    connected.forEach(
        (connection, watched) -> {
          CompletableFuture<OcspVerdict> known = verdicts.getIfPresent(watched.fingerprint());
          if (known == null) {
            if (lines.size() < WAITING_MAX / 2) known = verdict(watched, CONNECTED); // else in a later tick
          }
          if (known == null || !known.isDone() || known.join().status() != Status.REVOKED) return;
          if (connected.remove(connection, watched)) revoked.accept(connection);
        });
  }

  private OcspVerdict decide(Asking asking) {
    if (closed || System.nanoTime() - asking.sinceNanos() >= settings.timeout().toNanos()) return OcspVerdict.unknown("it has not got to this client in time");
    try {
      var question = OcspQuestion.about(asking.chain(), authorities.get());
      if (question.isEmpty()) return OcspVerdict.unknown("the certificate's issuer is not among those in tls.client-ca and the client's own");
      HttpRequest.Builder request =
          HttpRequest.newBuilder(settings.responder())
              .header("Content-Type", "application/ocsp-request")
              .header("Accept", "application/ocsp-response")
              .POST(HttpRequest.BodyPublishers.ofByteArray(question.get().body()));
      return question.get().read(client.send(request));
    } catch (TimeoutException _) {
      return OcspVerdict.unknown("it has not answered in time");
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return OcspVerdict.unknown("the broker stops");
    } catch (IOException | RuntimeException e) { // what certificates and answers of others may bring about
      return OcspVerdict.unknown(e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage());
    }
  }

  private void answer(Asking asking, OcspVerdict verdict) {
    Objects.requireNonNull(answers.get(verdict.status())).increment();
    if (verdict.status() == Status.UNKNOWN && !closed && failureLines.admits()) {
      log.warn(
          "The responder of listener {} (tls.client-ocsp) gives no usable answer about a client's certificate: {}; {} more were not logged",
          listener, verdict.explanation(), failureLines.leftOut());
    }
    asking.verdict().complete(verdict);
  }

  /** Ends questions; what waits has no answer. */
  @Override
  public void close() {
    closed = true;
    client.close();
  }
}
