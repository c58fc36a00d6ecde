package dunlin.broker.password;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The data that a server keeps for a password, from which the password cannot be recovered: SCRAM-SHA-256, RFC 5802 and
 * RFC 7677.
 *
 * @param storedKey proves that a client knows the password
 * @param serverKey proves to the client that the server knows this verifier
 */
public record ScramVerifier(int iterations, byte[] salt, byte[] storedKey, byte[] serverKey) {
  public static final String METHOD = "SCRAM-SHA-256";

  /** The minimum by RFC 7677, section 4. */
  public static final int ITERATIONS_MIN = 4_096;

  /** Bounds the time for one client to about a second, whatever a file says. */
  static final int ITERATIONS_MAX = 1_000_000;

  private static final int KEY_BYTES = 32;
  private static final int SALT_BYTES_MIN = 8;
  private static final int SALT_BYTES_MAX = 64;
  private static final Pattern TEXT =
      Pattern.compile(METHOD + "\\$([0-9]{1,7}):([A-Za-z0-9+/=]{1,88})\\$([A-Za-z0-9+/=]{44}):([A-Za-z0-9+/=]{44})");

  public ScramVerifier {
    if (iterations < ITERATIONS_MIN || iterations > ITERATIONS_MAX) {
      throw new IllegalArgumentException("iterations %d, not %d to %d".formatted(iterations, ITERATIONS_MIN, ITERATIONS_MAX));
    }
    if (salt.length < SALT_BYTES_MIN || salt.length > SALT_BYTES_MAX) {
      throw new IllegalArgumentException("salt of %d bytes, not %d to %d".formatted(salt.length, SALT_BYTES_MIN, SALT_BYTES_MAX));
    }
    if (storedKey.length != KEY_BYTES || serverKey.length != KEY_BYTES) throw new IllegalArgumentException("a key is not 32 bytes long");
  }

  /**
   * Creates a verifier.
   *
   * @param password prepared, not empty
   */
  public static ScramVerifier of(byte[] password, int iterations, byte[] salt) {
    byte[] salted = salted(password, iterations, salt);
    byte[] stored = hash(hmac(salted, ascii("Client Key")));
    byte[] server = hmac(salted, ascii("Server Key"));
    Arrays.fill(salted, (byte) 0);
    return new ScramVerifier(iterations, salt, stored, server);
  }

  /**
   * Reads what {@link #text} writes.
   *
   * @throws IllegalArgumentException if the text is invalid; the message does not quote it
   */
  public static ScramVerifier parse(String text) {
    Matcher matcher = TEXT.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException("not of the form " + METHOD + "$<iterations>:<salt>$<StoredKey>:<ServerKey>");
    }
    return new ScramVerifier(
        Integer.parseInt(matcher.group(1)), decode(matcher.group(2)), decode(matcher.group(3)), decode(matcher.group(4)));
  }

  private static byte[] decode(String base64) {
    try {
      return Base64.getDecoder().decode(base64);
    } catch (IllegalArgumentException _) { // its message quotes the text, which must not be logged
      throw new IllegalArgumentException("salt or key is not Base64");
    }
  }

  /** The text form, which other servers and tools use too. */
  public String text() {
    Base64.Encoder base64 = Base64.getEncoder();
    return METHOD + '$' + iterations + ':' + base64.encodeToString(salt)
        + '$' + base64.encodeToString(storedKey) + ':' + base64.encodeToString(serverKey);
  }

  /** Whether this is the password; it must be prepared and not empty. Costs as many hashes as there are iterations. */
  public boolean matches(byte[] password) {
    return MessageDigest.isEqual(of(password, iterations, salt).storedKey, storedKey);
  }

  /** Whether the proof was computed from the password, in an exchange with these messages. */
  public boolean proves(byte[] proof, byte[] messages) {
    if (proof.length != KEY_BYTES) return false;
    byte[] clientKey = hmac(storedKey, messages);
    for (int i = 0; i < clientKey.length; i++) clientKey[i] ^= proof[i];
    return MessageDigest.isEqual(hash(clientKey), storedKey);
  }

  /** The signature that proves to the client that the server knows this verifier. */
  public byte[] serverSignature(byte[] messages) {
    return hmac(serverKey, messages);
  }

  /** Without keys and salt. */
  @Override
  public String toString() {
    return METHOD + " with " + iterations + " iterations";
  }

  /**
   * Hi() of RFC 5802, section 2.2, which is PBKDF2 with one block. It works on bytes, so that the password is never
   * copied into a String.
   */
  private static byte[] salted(byte[] password, int iterations, byte[] salt) {
    try {
      Mac mac = mac(password);
      mac.update(salt);
      byte[] round = mac.doFinal(new byte[] {0, 0, 0, 1});
      byte[] result = round.clone();
      for (int i = 1; i < iterations; i++) {
        mac.update(round);
        mac.doFinal(round, 0);
        for (int j = 0; j < result.length; j++) result[j] ^= round[j];
      }
      return result;
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has HmacSHA256", e);
    }
  }

  public static byte[] hmac(byte[] key, byte[] data) {
    try {
      return mac(key).doFinal(data);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has HmacSHA256", e);
    }
  }

  private static Mac mac(byte[] key) throws GeneralSecurityException {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(key, "HmacSHA256"));
    return mac;
  }

  private static byte[] hash(byte[] data) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(data);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
