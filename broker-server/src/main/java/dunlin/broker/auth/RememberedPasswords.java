package dunlin.broker.auth;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Ticker;
import dunlin.broker.auth.Authenticator.Credentials;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Which passwords were found right in the last minutes, so that a client that comes again need not wait behind those whose passwords are
 * still to be looked at. Neither a password nor what it could be had back from is kept: only a fingerprint of user name and password under
 * a key that this process has drawn and does not share.
 */
final class RememberedPasswords {
  /*
   * Owner: any thread, event loops among them: a question costs one hash over at most LENGTH_MAX bytes.
   * Bounds: ENTRIES_MAX entries of some 150 bytes, each for its time; what is not asked for goes first. What is longer than LENGTH_MAX is
   *   not remembered.
   * Failure: what is forgotten is looked at again. An entry counts for the users of one reading of the file only.
   */
  static final int ENTRIES_MAX = 32_768;
  private static final int LENGTH_MAX = 1_024;
  private static final int KEY_BYTES = 32;

  private final byte[] key = new byte[KEY_BYTES];
  private final @Nullable Cache<Fingerprint, Entry> entries;

  private record Fingerprint(long first, long second, long third, long fourth) {}

  /** @param reading which reading of the file said so */
  private record Entry(long reading, Identity identity) {}

  /**
   * @param time how long a password is remembered, zero for not at all
   */
  RememberedPasswords(Duration time, Ticker ticker) {
    new SecureRandom().nextBytes(key);
    entries =
        time.isZero()
            ? null
            : Caffeine.newBuilder().maximumSize(ENTRIES_MAX).expireAfterWrite(time).ticker(ticker).executor(Runnable::run).build();
  }

  /** Who has shown the same user name and password before, by the users of a reading. */
  Optional<Identity> find(long reading, Credentials credentials) {
    if (entries == null) return Optional.empty();
    Fingerprint fingerprint = fingerprint(credentials);
    Entry entry = fingerprint == null ? null : entries.getIfPresent(fingerprint);
    return entry == null || entry.reading != reading ? Optional.empty() : Optional.of(entry.identity);
  }

  void add(long reading, Credentials credentials, Identity identity) {
    if (entries == null) return;
    Fingerprint fingerprint = fingerprint(credentials);
    if (fingerprint != null) entries.put(fingerprint, new Entry(reading, identity));
  }

  /** Forgets all: the file has changed. */
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
    byte[] user = name.getBytes(StandardCharsets.UTF_8);
    byte[] both = ByteBuffer.allocate(Integer.BYTES + user.length + password.length).putInt(user.length).put(user).put(password).array();
    ByteBuffer hash = ByteBuffer.wrap(ScramVerifier.hmac(key, both));
    Arrays.fill(both, (byte) 0);
    return new Fingerprint(hash.getLong(), hash.getLong(), hash.getLong(), hash.getLong());
  }
}
