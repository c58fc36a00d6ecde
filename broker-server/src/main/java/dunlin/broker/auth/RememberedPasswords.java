package dunlin.broker.auth;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Ticker;
import dunlin.broker.auth.Authenticator.Credentials;
import dunlin.broker.auth.Fingerprints.Fingerprint;
import dunlin.broker.auth.ScramExchange.User;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Remembers passwords that were verified in the last minutes, so that a client that reconnects does not wait behind
 * clients whose passwords must still be verified. Neither a password nor anything from which it could be recovered is
 * kept, only a fingerprint of user name and password under a random key that this process does not share.
 */
final class RememberedPasswords {
  /*
   * Owner: any thread, including event loops: a lookup costs one hash over at most LENGTH_MAX bytes.
   * Bounds: ENTRIES_MAX entries of some 150 bytes, each for a limited time; entries that are not used are evicted
   * first. Credentials longer than LENGTH_MAX are not remembered.
   * Failure: a password that was evicted is verified again.
   */
  static final int ENTRIES_MAX = 32_768;
  private static final int LENGTH_MAX = 1_024;

  private final Fingerprints fingerprints = new Fingerprints();
  private final @Nullable Cache<Fingerprint, User> entries;

  /** @param time how long a password is remembered, zero for not at all */
  RememberedPasswords(Duration time, Ticker ticker) {
    entries =
        time.isZero()
            ? null
            : Caffeine.newBuilder().maximumSize(ENTRIES_MAX).expireAfterWrite(time).ticker(ticker).executor(Runnable::run).build();
  }

  /** The user that was verified with the same user name and password. The caller has to look whether there still is this user, with this verifier. */
  Optional<User> find(Credentials credentials) {
    if (entries == null) return Optional.empty();
    Fingerprint fingerprint = fingerprint(credentials);
    return fingerprint == null ? Optional.empty() : Optional.ofNullable(entries.getIfPresent(fingerprint));
  }

  void add(Credentials credentials, User user) {
    if (entries == null) return;
    Fingerprint fingerprint = fingerprint(credentials);
    if (fingerprint != null) entries.put(fingerprint, user);
  }

  /** Forgets all entries, because the file has changed. */
  void clear() {
    if (entries != null) entries.invalidateAll();
  }

  long size() {
    return entries == null ? 0 : entries.estimatedSize();
  }

  private @Nullable Fingerprint fingerprint(Credentials credentials) {
    if (credentials.userName().isEmpty() || credentials.password().isEmpty()) return null;
    String name = credentials.userName().get();
    byte[] password = credentials.password().get();
    if (name.length() > LENGTH_MAX || password.length > LENGTH_MAX) return null;
    return fingerprints.of(name.getBytes(StandardCharsets.UTF_8), password);
  }
}
