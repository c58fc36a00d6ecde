package dunlin.broker.jwt;

import dunlin.broker.http.ServiceClient;
import dunlin.broker.http.ServiceUrl;
import dunlin.runtime.EventLine;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** The JWK Set that an identity provider publishes at a URL; RFC 7517, section 5. */
public final class RemoteKeys implements AutoCloseable {
  /*
   * Owner: one thread calls tick() about once a second; it begins a fetch, on a virtual thread. Any thread calls the rest.
   * Bounds: one fetch at a time, of the settings' timeout for all of it, SIZE_MAX bytes and TokenKeys.KEYS_MAX keys; no redirect is
   * followed. Two fetches begin at least intervalMin apart, however many tokens name keys that are not known: these only set a flag. While
   * there are no keys at all, FIRST_RETRY_MAX bounds the wait.
   * Failure: the keys of the last fetch stay in force, for as long as fetches fail; an event and a counter say so. Before the first
   * fetch that succeeds there are none, and want() says that they are awaited.
   */
  private static final Logger log = LoggerFactory.getLogger(RemoteKeys.class);
  private static final Logger events = LoggerFactory.getLogger("dunlin.events");

  private static final int SIZE_MAX = 256 * 1_024;
  private static final Duration FIRST_RETRY_MAX = Duration.ofSeconds(5);

  private final URI url;
  private final JwtSettings.Keys settings;
  private final Set<TokenAlgorithm> algorithms;
  private final ServiceClient client;
  private final Counter fetched;
  private final Counter failed;
  private final AtomicBoolean fetching = new AtomicBoolean();
  private final long openedNanos = System.nanoTime();

  /** Null until a fetch has succeeded; written by fetches, one after another. */
  private volatile @Nullable TokenKeys keys;

  private volatile long fetchedNanos;

  /** Whether the last fetch has failed. */
  private volatile boolean behind;

  /** Whether a token has named a key that is not known, since the last fetch began. */
  private volatile boolean wanted;

  /** Written by the thread that ticks. */
  private volatile long begunNanos;

  private volatile boolean begun;
  private volatile boolean closed;
  private volatile @Nullable Thread fetcher;

  public RemoteKeys(JwtSettings.Keys settings, MeterRegistry meters) {
    this.settings = settings;
    this.url = JwtSettings.uri(settings.url());
    this.algorithms = settings.signing();
    this.client = new ServiceClient(settings.timeout(), SIZE_MAX);
    this.fetched = counter(meters, "loaded");
    this.failed = counter(meters, "failed");
    Gauge.builder("dunlin.auth.jwt.jwks.age", this, RemoteKeys::ageSeconds)
        .description("How long ago the JWK Set was fetched; since the start if it never was")
        .baseUnit("seconds")
        .register(meters);
  }

  private static Counter counter(MeterRegistry meters, String result) {
    return Counter.builder("dunlin.auth.jwt.jwks.fetches").description("Fetches of the JWK Set, by result").tag("result", result).register(meters);
  }

  private double ageSeconds() {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - (keys == null ? openedNanos : fetchedNanos)) / 1_000.0;
  }

  /** The keys of the last fetch that succeeded; none before that. */
  TokenKeys keys() {
    TokenKeys known = keys;
    return known == null ? TokenKeys.NONE : known;
  }

  /**
   * Asks for a fetch, because a key is not known.
   *
   * @return whether there will be one soon; false if the last one was too short a time ago, so that the key is likely to be unknown
   */
  boolean want() {
    if (keys != null && !fetching.get() && System.nanoTime() - begunNanos < settings.intervalMin().toNanos()) return false;
    wanted = true;
    return true;
  }

  /** Begins a fetch if it is time for one. Throws nothing. */
  public void tick() {
    long now = System.nanoTime();
    if (closed || (begun && now - begunNanos < interval().toNanos()) || !fetching.compareAndSet(false, true)) return;
    begun = true;
    begunNanos = now;
    wanted = false;
    fetcher = Thread.ofVirtual().name("dunlin-jwks").start(this::fetch);
  }

  private Duration interval() {
    Duration min = settings.intervalMin();
    if (keys == null) return min.compareTo(FIRST_RETRY_MAX) < 0 ? min : FIRST_RETRY_MAX;
    return wanted || behind || settings.refresh().compareTo(min) < 0 ? min : settings.refresh();
  }

  private void fetch() {
    try {
      TokenKeys read = TokenKeys.ofJwkSet(download(), algorithms);
      fetchedNanos = System.nanoTime();
      boolean first = keys == null;
      keys = read;
      behind = false;
      fetched.increment();
      if (first) log.info("Fetched {} keys for tokens from {}", read.size(), ServiceUrl.shown(url));
    } catch (IOException | TokenKeys.MalformedException e) {
      failed(e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage());
    } catch (TimeoutException _) {
      failed("no complete answer in time (dunlin.auth.jwt.jwks-timeout)");
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt(); // closed
    } catch (RuntimeException e) { // a bug, which must not end the fetching
      failed(e.toString());
    } finally {
      fetching.set(false);
    }
  }

  private String download() throws IOException, InterruptedException, TimeoutException {
    return new String(client.send(HttpRequest.newBuilder(url).header("Accept", "application/json")), StandardCharsets.UTF_8);
  }

  private void failed(String explanation) {
    if (closed) return;
    behind = true;
    failed.increment();
    EventLine.of(events, Level.WARN, "jwks-not-fetched")
        .text("url", ServiceUrl.shown(url))
        .text("explanation", explanation)
        .number("keys", keys().size())
        .write();
  }

  @Override
  public void close() {
    closed = true;
    Thread running = fetcher;
    if (running != null) running.interrupt();
    client.close();
  }
}
