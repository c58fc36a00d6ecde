package dunlin.broker.auth;

import dunlin.broker.password.ScramVerifier;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.Arrays;

/** Makes fingerprints of credentials, by which they are known again and from which they cannot be recovered: hashes under a random key that this process does not share. */
final class Fingerprints {
  /*
   * Owner: any thread.
   * Bounds: one hash over what is given, which the caller bounds.
   */
  private static final int KEY_BYTES = 32;

  private final byte[] key = new byte[KEY_BYTES];

  Fingerprints() {
    new SecureRandom().nextBytes(key);
  }

  /** A keyed hash. */
  record Fingerprint(long first, long second, long third, long fourth) {}

  /** The fingerprint of parts, whose order and borders count. */
  Fingerprint of(byte[]... parts) {
    int size = 0;
    for (byte[] part : parts) size += Integer.BYTES + part.length;
    ByteBuffer all = ByteBuffer.allocate(size);
    for (byte[] part : parts) all.putInt(part.length).put(part);
    ByteBuffer hash = ByteBuffer.wrap(ScramVerifier.hmac(key, all.array()));
    Arrays.fill(all.array(), (byte) 0);
    return new Fingerprint(hash.getLong(), hash.getLong(), hash.getLong(), hash.getLong());
  }
}
