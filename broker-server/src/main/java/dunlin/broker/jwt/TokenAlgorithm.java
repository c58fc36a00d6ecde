package dunlin.broker.jwt;

import com.nimbusds.jose.JWSAlgorithm;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** How tokens may be signed; RFC 7518, section 3.1, and RFC 8037. There is none without a signature. */
public enum TokenAlgorithm {
  HS256("HS256", 32),
  HS384("HS384", 48),
  HS512("HS512", 64),
  RS256("RS256", 0),
  RS384("RS384", 0),
  RS512("RS512", 0),
  PS256("PS256", 0),
  PS384("PS384", 0),
  PS512("PS512", 0),
  ES256("ES256", 0),
  ES384("ES384", 0),
  ES512("ES512", 0),
  /** With the curve Ed25519 only. */
  EDDSA("EdDSA", 0);

  private static final String ED25519 = "Ed25519"; // another name of EdDSA with this curve; RFC 9864

  private final String name;
  private final int secretBytesMin;

  TokenAlgorithm(String name, int secretBytesMin) {
    this.name = name;
    this.secretBytesMin = secretBytesMin;
  }

  /** The algorithm of a token's header. */
  static Optional<TokenAlgorithm> named(String text) {
    return Arrays.stream(values()).filter(each -> each.isNamed(text)).findFirst();
  }

  boolean isNamed(String text) {
    return name.equals(text) || (this == EDDSA && text.equals(ED25519));
  }

  JWSAlgorithm jose() {
    return JWSAlgorithm.parse(name);
  }

  /** Whether both sides have one secret. */
  boolean isSecret() {
    return secretBytesMin > 0;
  }

  /** A secret is as long as the hash at least; RFC 7518, section 3.2. */
  int secretBytesMin() {
    return secretBytesMin;
  }

  /** As settings spell it. */
  String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
