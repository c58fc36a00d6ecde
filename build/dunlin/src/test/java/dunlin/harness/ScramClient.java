package dunlin.harness;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.UUID;
import javax.crypto.Mac;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import javax.crypto.spec.SecretKeySpec;

/** The client's side of one SCRAM-SHA-256 exchange, with the JDK's classes; RFC 5802. */
public final class ScramClient {
  public static final String METHOD = "SCRAM-SHA-256";

  private final String password;
  private final String bare;
  private byte[] serverSignature = {};

  public ScramClient(String user, String password) {
    this.password = password;
    bare = "n=" + user + ",r=" + UUID.randomUUID();
  }

  public byte[] first() {
    return utf8("n,," + bare);
  }

  /** The client's final message, in answer to the server's first. */
  public byte[] last(byte[] serverFirst) {
    String text = new String(serverFirst, StandardCharsets.UTF_8);
    String[] parts = text.split(",", -1);
    byte[] salt = Base64.getDecoder().decode(parts[1].substring(2));
    int iterations = Integer.parseInt(parts[2].substring(2));
    String unproven = "c=biws," + parts[0];
    String messages = bare + ',' + text + ',' + unproven;
    try {
      var factory = SecretKeyFactory.getInstance("PBKDF2WithHmacSHA256");
      byte[] salted = factory.generateSecret(new PBEKeySpec(password.toCharArray(), salt, iterations, 256)).getEncoded();
      byte[] proof = hmac(salted, "Client Key");
      byte[] signature = hmac(MessageDigest.getInstance("SHA-256").digest(proof), messages);
      for (int i = 0; i < proof.length; i++) proof[i] ^= signature[i];
      serverSignature = hmac(hmac(salted, "Server Key"), messages);
      return utf8(unproven + ",p=" + Base64.getEncoder().encodeToString(proof));
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }

  /** Whether the server's last message proves that it knows the user. */
  public boolean provesServer(byte[] serverFinal) {
    return new String(serverFinal, StandardCharsets.UTF_8).equals("v=" + Base64.getEncoder().encodeToString(serverSignature));
  }

  private static byte[] hmac(byte[] key, String data) throws GeneralSecurityException {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(key, "HmacSHA256"));
    return mac.doFinal(utf8(data));
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
