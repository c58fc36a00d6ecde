package dunlin.broker.jwt;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.security.interfaces.ECPublicKey;
import java.security.interfaces.EdECPublicKey;
import java.security.interfaces.RSAPublicKey;
import java.security.spec.AlgorithmParameterSpec;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.MGF1ParameterSpec;
import java.security.spec.PSSParameterSpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Signs tokens by the JDK alone, so that the library under test does not judge itself. */
final class Issuer {
  private static final Map<String, String> CURVES = Map.of("ES256", "secp256r1", "ES384", "secp384r1", "ES512", "secp521r1");

  private final KeyPair keys;
  private final String algorithm;

  private Issuer(String algorithm, KeyPair keys) {
    this.algorithm = algorithm;
    this.keys = keys;
  }

  /** An issuer with a new key pair. */
  static Issuer of(String algorithm) {
    return of(algorithm, 2_048);
  }

  static Issuer of(String algorithm, int rsaBits) {
    try {
      if (algorithm.equals("EdDSA")) return new Issuer(algorithm, KeyPairGenerator.getInstance("Ed25519").generateKeyPair());
      var generator = KeyPairGenerator.getInstance(CURVES.containsKey(algorithm) ? "EC" : "RSA");
      if (CURVES.containsKey(algorithm)) generator.initialize(new ECGenParameterSpec(CURVES.get(algorithm)));
      else generator.initialize(rsaBits);
      return new Issuer(algorithm, generator.generateKeyPair());
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }

  KeyPair keys() {
    return keys;
  }

  /** A token without a name of its key. */
  String token(String claims) {
    return signed("{\"alg\":\"%s\",\"typ\":\"JWT\"}".formatted(algorithm), claims);
  }

  /** A token that says which key has signed it. */
  String token(String id, String claims) {
    return signed("{\"alg\":\"%s\",\"kid\":\"%s\"}".formatted(algorithm, id), claims);
  }

  /** A token with any header, signed by the algorithm of this issuer. */
  String signed(String header, String claims) {
    String text = encoded(header) + '.' + encoded(claims);
    try {
      Signature signature = Signature.getInstance(name());
      if (algorithm.startsWith("PS")) signature.setParameter(pss());
      signature.initSign(keys.getPrivate());
      signature.update(text.getBytes(StandardCharsets.US_ASCII));
      return text + '.' + encoded(signature.sign());
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }

  private String name() {
    String hash = "SHA" + algorithm.substring(2);
    return switch (algorithm.substring(0, 2)) {
      case "RS" -> hash + "withRSA";
      case "PS" -> "RSASSA-PSS";
      case "ES" -> hash + "withECDSAinP1363Format";
      default -> "Ed25519";
    };
  }

  private AlgorithmParameterSpec pss() {
    int bits = Integer.parseInt(algorithm.substring(2));
    return new PSSParameterSpec("SHA-" + bits, "MGF1", new MGF1ParameterSpec("SHA-" + bits), bits / 8, 1);
  }

  /** A token whose signature is made with a secret. */
  static String withSecret(String algorithm, byte[] secret, String claims) {
    String text = encoded("{\"alg\":\"%s\"}".formatted(algorithm)) + '.' + encoded(claims);
    try {
      String name = "HmacSHA" + algorithm.substring(2);
      Mac mac = Mac.getInstance(name);
      mac.init(new SecretKeySpec(secret, name));
      return text + '.' + encoded(mac.doFinal(text.getBytes(StandardCharsets.US_ASCII)));
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }

  String pem() {
    return pem("PUBLIC KEY", keys.getPublic().getEncoded());
  }

  String privatePem() {
    return pem("PRIVATE KEY", keys.getPrivate().getEncoded());
  }

  private static String pem(String label, byte[] encoded) {
    return "-----BEGIN %1$s-----%n%2$s%n-----END %1$s-----%n".formatted(label, Base64.getMimeEncoder().encodeToString(encoded));
  }

  /** Its public key as a JWK. */
  String jwk(String id, String... more) {
    String key =
        switch (keys.getPublic()) {
          case RSAPublicKey rsa -> "\"kty\":\"RSA\",\"n\":\"%s\",\"e\":\"%s\"".formatted(number(rsa.getModulus(), 0), number(rsa.getPublicExponent(), 0));
          case ECPublicKey ec -> {
            int bits = ec.getParams().getCurve().getField().getFieldSize();
            int bytes = (bits + 7) / 8;
            yield "\"kty\":\"EC\",\"crv\":\"P-%d\",\"x\":\"%s\",\"y\":\"%s\"".formatted(bits, number(ec.getW().getAffineX(), bytes), number(ec.getW().getAffineY(), bytes));
          }
          case EdECPublicKey edwards -> {
            byte[] x509 = edwards.getEncoded();
            yield "\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"%s\"".formatted(encoded(Arrays.copyOfRange(x509, x509.length - 32, x509.length)));
          }
          default -> throw new AssertionError(keys.getPublic());
        };
    return "{%s,\"kid\":\"%s\"%s}".formatted(key, id, more.length == 0 ? "" : "," + String.join(",", more));
  }

  static String set(String... keys) {
    return "{\"keys\":[" + String.join(",", keys) + "]}";
  }

  /** Without a sign, and with zeros in front up to a length. */
  private static String number(BigInteger number, int bytes) {
    byte[] signed = number.toByteArray();
    int from = signed[0] == 0 && signed.length > 1 ? 1 : 0;
    byte[] unsigned = new byte[Math.max(bytes, signed.length - from)];
    System.arraycopy(signed, from, unsigned, unsigned.length - (signed.length - from), signed.length - from);
    return encoded(unsigned);
  }

  static String encoded(String text) {
    return encoded(text.getBytes(StandardCharsets.UTF_8));
  }

  private static String encoded(byte[] bytes) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }
}
