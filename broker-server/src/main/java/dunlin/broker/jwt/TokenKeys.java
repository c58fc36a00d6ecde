package dunlin.broker.jwt;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSVerifier;
import com.nimbusds.jose.crypto.ECDSAVerifier;
import com.nimbusds.jose.crypto.MACVerifier;
import com.nimbusds.jose.crypto.RSASSAVerifier;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.KeyOperation;
import com.nimbusds.jose.jwk.KeyUse;
import com.nimbusds.jose.jwk.OctetKeyPair;
import com.nimbusds.jose.jwk.OctetSequenceKey;
import com.nimbusds.jose.jwk.RSAKey;
import java.io.ByteArrayInputStream;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.cert.CertificateFactory;
import java.security.interfaces.ECPublicKey;
import java.security.interfaces.EdECPublicKey;
import java.security.interfaces.RSAPublicKey;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.X509EncodedKeySpec;
import java.text.ParseException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The keys of one source: a secret, public keys in PEM, or a JWK Set (RFC 7517). */
public record TokenKeys(List<TokenKey> all) {
  /*
   * Immutable; any thread.
   * Bounds: KEYS_MAX keys; the size of the text is bounded by its source.
   * Failure: what is wrong is a MalformedException. Keys of a JWK Set for another purpose, another algorithm, or of an unknown type or
   * curve are left out, as RFC 7517, section 5, has it; what is left must be one key at least.
   */
  public static final TokenKeys NONE = new TokenKeys(List.of());
  static final int KEYS_MAX = 100;
  private static final int RSA_BITS_MIN = 2_048;

  private static final Pattern PEM = Pattern.compile("-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \\1-----");
  private static final Base64.Decoder BASE64 = Base64.getMimeDecoder();

  /** Keys cannot be read. The message says why. */
  public static final class MalformedException extends RuntimeException {
    MalformedException(String message) {
      super(message);
    }
  }

  public TokenKeys {
    all = List.copyOf(all);
  }

  /** A secret that the issuer shares; the bytes are those of its file, without a line end behind them. */
  public static TokenKeys ofSecret(byte[] file, Set<TokenAlgorithm> allowed) {
    int end = file.length;
    if (end > 0 && file[end - 1] == '\n') end--;
    if (end > 0 && file[end - 1] == '\r') end--;
    byte[] secret = Arrays.copyOf(file, end);
    int bytesMin = allowed.stream().mapToInt(TokenAlgorithm::secretBytesMin).max().orElse(0);
    if (end < bytesMin) throw new MalformedException("a secret of %d bytes; %s needs %d at least".formatted(end, labels(allowed), bytesMin));
    try {
      return new TokenKeys(List.of(new TokenKey("", "", new MACVerifier(secret))));
    } catch (JOSEException e) {
      throw new MalformedException(String.valueOf(e.getMessage()));
    }
  }

  /** Public keys and certificates in PEM, or a JWK Set. */
  public static TokenKeys ofFile(String text, Set<TokenAlgorithm> allowed) {
    return text.stripLeading().startsWith("{") ? ofJwkSet(text, allowed) : ofPem(text, allowed);
  }

  static TokenKeys ofJwkSet(String json, Set<TokenAlgorithm> allowed) {
    List<TokenKey> keys = new ArrayList<>();
    try {
      List<JWK> read = JWKSet.parse(json).getKeys();
      if (read.size() > KEYS_MAX) throw new MalformedException("it has %d keys, more than %d".formatted(read.size(), KEYS_MAX));
      for (JWK each : read) {
        TokenKey key = keyOf(each);
        if (key != null) keys.add(key);
      }
    } catch (ParseException e) {
      throw new MalformedException("it is no JWK Set: " + e.getMessage());
    }
    return usable(keys, allowed);
  }

  /** Null for a key that signs no tokens, or that no algorithm here is made for. */
  private static @Nullable TokenKey keyOf(JWK key) {
    if (key instanceof OctetSequenceKey) return null; // a secret that is published is none
    if (key.isPrivate()) throw new MalformedException("it has a private key; only public ones belong there");
    if (key.getKeyUse() != null && !key.getKeyUse().equals(KeyUse.SIGNATURE)) return null;
    if (key.getKeyOperations() != null && !key.getKeyOperations().contains(KeyOperation.VERIFY)) return null;
    try {
      JWSVerifier verifier = verifierOf(key);
      if (verifier == null) return null;
      return new TokenKey(Objects.requireNonNullElse(key.getKeyID(), ""), key.getAlgorithm() == null ? "" : key.getAlgorithm().getName(), verifier);
    } catch (JOSEException | GeneralSecurityException _) {
      return null; // of a curve that is not used here
    }
  }

  private static @Nullable JWSVerifier verifierOf(JWK key) throws JOSEException, GeneralSecurityException {
    return switch (key) {
      case RSAKey rsa -> rsa.toRSAPublicKey().getModulus().bitLength() < RSA_BITS_MIN ? null : new RSASSAVerifier(rsa.toRSAPublicKey());
      case ECKey ec -> new ECDSAVerifier(ec.toECPublicKey());
      case OctetKeyPair pair when pair.getCurve().equals(Curve.Ed25519) -> Ed25519Verifier.of(pair.getX().decode());
      default -> null;
    };
  }

  private static TokenKeys ofPem(String text, Set<TokenAlgorithm> allowed) {
    List<TokenKey> keys = new ArrayList<>();
    Matcher blocks = PEM.matcher(text);
    while (blocks.find()) {
      if (keys.size() == KEYS_MAX) throw new MalformedException("it has more than " + KEYS_MAX + " keys");
      keys.add(new TokenKey("", "", verifierOf(blocks.group(1), blocks.group(2), keys.size() + 1)));
    }
    if (keys.isEmpty()) throw new MalformedException("it has neither a key in PEM nor a JWK Set");
    return usable(keys, allowed);
  }

  private static JWSVerifier verifierOf(String label, String body, int number) {
    if (label.endsWith("PRIVATE KEY")) throw new MalformedException("part %d is a private key; only the public one belongs there".formatted(number));
    try {
      byte[] encoded = BASE64.decode(body);
      PublicKey key =
          switch (label) {
            case "PUBLIC KEY" -> publicKey(encoded);
            case "CERTIFICATE" -> CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(encoded)).getPublicKey();
            default -> throw new MalformedException("part %d is neither PUBLIC KEY nor CERTIFICATE".formatted(number));
          };
      return switch (key) {
        case RSAPublicKey rsa when rsa.getModulus().bitLength() < RSA_BITS_MIN ->
            throw new MalformedException("part %d is an RSA key of %d bits; %d are needed at least".formatted(number, rsa.getModulus().bitLength(), RSA_BITS_MIN));
        case RSAPublicKey rsa -> new RSASSAVerifier(rsa);
        case ECPublicKey ec -> new ECDSAVerifier(ec);
        case EdECPublicKey edwards when edwards.getParams().getName().equals(Ed25519Verifier.ALGORITHM) -> new Ed25519Verifier(edwards);
        default -> throw new InvalidKeyException("of another type");
      };
    } catch (JOSEException | GeneralSecurityException | IllegalArgumentException e) {
      throw new MalformedException("part %d is no public key of RSA, of P-256, P-384 or P-521, or of Ed25519".formatted(number));
    }
  }

  private static PublicKey publicKey(byte[] encoded) throws GeneralSecurityException {
    for (String type : List.of("RSA", "EC")) {
      try {
        return KeyFactory.getInstance(type).generatePublic(new X509EncodedKeySpec(encoded));
      } catch (InvalidKeySpecException _) {
        // of another type
      }
    }
    return KeyFactory.getInstance(Ed25519Verifier.ALGORITHM).generatePublic(new X509EncodedKeySpec(encoded));
  }

  private static TokenKeys usable(List<TokenKey> keys, Set<TokenAlgorithm> allowed) {
    List<TokenKey> usable = keys.stream().filter(key -> allowed.stream().anyMatch(key::fits)).toList();
    if (usable.isEmpty()) throw new MalformedException("it has no key for " + labels(allowed) + " (dunlin.auth.jwt.algorithms)");
    return new TokenKeys(usable);
  }

  private static String labels(Set<TokenAlgorithm> algorithms) {
    return algorithms.stream().sorted().map(TokenAlgorithm::label).collect(Collectors.joining(", "));
  }

  /** The number of keys. */
  public int size() {
    return all.size();
  }
}
