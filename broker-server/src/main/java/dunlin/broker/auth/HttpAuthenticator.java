package dunlin.broker.auth;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dunlin.broker.auth.Fingerprints.Fingerprint;
import dunlin.broker.http.HttpAnswer;
import dunlin.broker.http.HttpQuestion;
import dunlin.broker.http.HttpQuestions;
import dunlin.broker.http.HttpSettings;
import dunlin.model.ReasonCode;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.cert.CertificateEncodingException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Asks a service over HTTP whether a client may connect, as whom, for how long and with which access rules. */
final class HttpAuthenticator implements Authenticator, AutoCloseable {
  /*
   * Owner: any thread. The threads of Authentication ask, and are not held up: the answer comes later.
   * Bounds: those of HttpQuestions. LENGTH_MAX bytes of user name, password and client identifier; clients with more are refused. Answers that are
   *   remembered: REMEMBERED_BYTES_MAX, counted by what they have; the least used ones end first.
   * Failure: a client about which there is no answer is refused with 0x88, or 0x89 when too many wait; that is no failure of the client.
   */
  static final int LENGTH_MAX = 4_096;
  private static final int REMEMBERED_BYTES_MAX = 16 << 20;
  private static final int ENTRY_BYTES = 256;
  private static final int RULE_BYTES = 256;
  private static final byte[] NOTHING = {};

  private final HttpQuestions questions;
  private final Duration rememberMax;
  private final InstantSource wall;
  private final LongSupplier nanoTime;
  private final Fingerprints fingerprints = new Fingerprints();
  private final Cache<Fingerprint, Remembered> remembered;
  private final Counter knownAgain;

  /** @param untilNanos until when it may be used */
  private record Remembered(Decision.Accepted decision, long untilNanos) {}

  /**
   * @param patience how long a client may wait until the service is asked about it
   * @param wall the time from which the life of an answer counts
   */
  HttpAuthenticator(HttpSettings settings, Duration patience, InstantSource wall, LongSupplier nanoTime, MeterRegistry meters) {
    questions = new HttpQuestions(settings, patience, nanoTime, meters);
    rememberMax = settings.remember();
    this.wall = wall;
    this.nanoTime = nanoTime;
    remembered =
        Caffeine.newBuilder()
            .maximumWeight(REMEMBERED_BYTES_MAX)
            .weigher(HttpAuthenticator::bytesOf)
            .expireAfterWrite(rememberMax)
            .ticker(nanoTime::getAsLong)
            .executor(Runnable::run)
            .build();
    knownAgain = Counter.builder("dunlin.auth.http.known").description("Clients that were let in by a remembered answer, without a request").register(meters);
    Gauge.builder("dunlin.auth.http.remembered", remembered, Cache::estimatedSize).description("Answers of the authentication service that are remembered").register(meters);
  }

  private static int bytesOf(Fingerprint of, Remembered entry) {
    Claims claims = entry.decision().claims();
    int bytes = ENTRY_BYTES + 2 * entry.decision().identity().user().length() + RULE_BYTES * claims.rules().size();
    for (var each : claims.attributes().entrySet()) bytes += ENTRY_BYTES + 2 * (each.getKey().length() + each.getValue().length());
    return bytes;
  }

  @Override
  public CompletionStage<Decision> authenticate(Credentials credentials) {
    byte[] name = credentials.userName().orElse("").getBytes(StandardCharsets.UTF_8);
    // A copy: the original is overwritten when the client disconnects, and zeros must not be asked about as a password.
    Optional<byte[]> password = credentials.password().map(byte[]::clone);
    byte[] clientId = credentials.clientId().getBytes(StandardCharsets.UTF_8);
    if (name.length + clientId.length + password.orElse(NOTHING).length > LENGTH_MAX) {
      return CompletableFuture.completedFuture(
          new Decision.Refused(ReasonCode.BAD_USER_NAME_OR_PASSWORD, "user name, password and client identifier have more than " + LENGTH_MAX + " bytes together"));
    }
    Peer peer = credentials.peer();
    String address = addressOf(peer.address());
    Fingerprint fingerprint = fingerprint(credentials, name, password, clientId, address);
    if (fingerprint != null) {
      Decision.Accepted known = known(fingerprint);
      if (known != null) return CompletableFuture.completedFuture(known);
    }
    var question =
        new HttpQuestion(
            Authentication.sourceOf(peer.address()),
            credentials.version().level(),
            credentials.clientId(),
            credentials.userName(),
            password,
            address,
            peer.listener(),
            peer.encrypted(),
            peer.serverName(),
            CertificateSubject.attributesOf(peer));
    return questions.ask(question).thenApply(answer -> decide(answer, credentials, fingerprint));
  }

  /** The address without the port, which changes with each connection; empty for a Unix domain socket. */
  private static String addressOf(SocketAddress address) {
    return address instanceof InetSocketAddress inet && inet.getAddress() != null ? inet.getAddress().getHostAddress() : "";
  }

  /** Of all that the service learns about the client; null if nothing is remembered. */
  private @Nullable Fingerprint fingerprint(Credentials credentials, byte[] name, Optional<byte[]> password, byte[] clientId, String address) {
    if (rememberMax.isZero()) return null;
    try {
      Peer peer = credentials.peer();
      return fingerprints.of(
          name,
          password.orElse(NOTHING),
          clientId,
          address.getBytes(StandardCharsets.UTF_8),
          peer.listener().getBytes(StandardCharsets.UTF_8),
          peer.certificates().isEmpty() ? NOTHING : peer.certificates().getFirst().getEncoded(),
          new byte[] {(byte) credentials.version().level(), (byte) (credentials.userName().isPresent() ? 1 : 0), (byte) (password.isPresent() ? 1 : 0)});
    } catch (CertificateEncodingException _) {
      return null;
    }
  }

  private Decision.@Nullable Accepted known(Fingerprint fingerprint) {
    Remembered entry = remembered.getIfPresent(fingerprint);
    if (entry == null || nanoTime.getAsLong() - entry.untilNanos() >= 0) return null;
    Optional<Instant> end = entry.decision().claims().end();
    if (end.isPresent() && !wall.instant().isBefore(end.get())) return null;
    knownAgain.increment();
    return entry.decision();
  }

  private Decision decide(HttpAnswer answer, Credentials credentials, @Nullable Fingerprint fingerprint) {
    return switch (answer) {
      case HttpAnswer.Allowed allowed -> admit(allowed, credentials, fingerprint);
      case HttpAnswer.Denied(var reason) -> new Decision.Refused(ReasonCode.BAD_USER_NAME_OR_PASSWORD, reason.isEmpty() ? "bad user name or password" : reason);
      case HttpAnswer.Missing(var why, _) ->
          why == HttpAnswer.Why.BUSY
              ? new Decision.Refused(ReasonCode.SERVER_BUSY, "too many clients wait for the authentication service")
              : new Decision.Refused(ReasonCode.SERVER_UNAVAILABLE, "the authentication service cannot be asked");
    };
  }

  private Decision admit(HttpAnswer.Allowed allowed, Credentials credentials, @Nullable Fingerprint fingerprint) {
    String user = allowed.user().isEmpty() ? credentials.userName().orElse("") : allowed.user();
    Decision.Accepted accepted;
    try {
      Identity identity = allowed.tenant().isEmpty() ? Identity.of(user) : new Identity(allowed.tenant(), user);
      accepted = new Decision.Accepted(identity, new Claims(allowed.life().map(wall.instant()::plus), allowed.attributes(), allowed.rules()));
    } catch (IllegalArgumentException _) {
      return new Decision.Refused(ReasonCode.NOT_AUTHORIZED, "the user or tenant that the authentication service gives is no valid name");
    }
    Duration remember = allowed.remember().filter(given -> given.compareTo(rememberMax) < 0).orElse(rememberMax);
    if (fingerprint != null && !remember.isZero()) remembered.put(fingerprint, new Remembered(accepted, nanoTime.getAsLong() + remember.toNanos()));
    return accepted;
  }

  @Override
  public void close() {
    questions.close();
  }
}
