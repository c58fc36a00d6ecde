package dunlin.broker.jwt;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.util.Base64URL;
import com.nimbusds.jose.util.JSONObjectUtils;
import dunlin.broker.jwt.TokenVerdict.Reason;
import dunlin.broker.jwt.TokenVerdict.Refused;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.nio.charset.StandardCharsets;
import java.text.ParseException;
import java.time.InstantSource;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Checks tokens: form, algorithm, key, signature, and then the claims; RFC 7519, section 7.2, and RFC 8725. */
public final class TokenChecker {
  /*
   * Owner: any thread; the caller bounds how many check at a time.
   * Bounds: tokenMax bytes of a token, before anything of it is read; KeyRing.CANDIDATES_MAX signatures. So a token costs about as much
   * as any other of its algorithm.
   * Failure: whatever is wrong is a verdict; nothing is thrown.
   */
  private static final int HEADER = 0;
  private static final int PAYLOAD = 1;
  private static final int SIGNATURE = 2;
  private static final int PARTS = 3;

  private final JwtSettings settings;
  private final KeyRing keys;
  private final ClaimReader claims;
  private final Map<Reason, Counter> refused = new EnumMap<>(Reason.class);
  private final Counter accepted;

  /** @param wall the time that tokens are compared with */
  public TokenChecker(JwtSettings settings, KeyRing keys, InstantSource wall, MeterRegistry meters) {
    this.settings = settings;
    this.keys = keys;
    this.claims = new ClaimReader(settings.demands(), settings.meaning(), wall);
    this.accepted = counter(meters, "accepted");
    for (Reason each : Reason.values()) refused.put(each, counter(meters, each.name().toLowerCase(Locale.ROOT).replace('_', '-')));
  }

  private static Counter counter(MeterRegistry meters, String result) {
    return Counter.builder("dunlin.auth.jwt.tokens").description("Tokens that clients have shown, by what was said of them").tag("result", result).register(meters);
  }

  /**
   * Whether bytes are to be taken as a token and not as a password: three or more parts of Base64url with dots between them, the first of
   * which begins as a JSON object does; or too many bytes to look at that begin so.
   */
  public boolean looksLikeToken(byte[] bytes) {
    if (bytes.length < PARTS || bytes[0] != 'e' || (bytes[1] != 'y' && bytes[1] != 'w')) return false;
    if (bytes.length > settings.tokenMax()) return true;
    int dots = 0;
    for (byte each : bytes) {
      if (each == '.') dots++;
      else if (!isBase64Url(each)) return false;
    }
    return dots >= PARTS - 1;
  }

  private static boolean isBase64Url(byte c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  }

  /** What is to be said of a token. */
  public TokenVerdict check(byte[] token) {
    TokenVerdict verdict = judge(token);
    if (verdict instanceof Refused(var reason, _)) Objects.requireNonNull(refused.get(reason)).increment();
    else accepted.increment();
    return verdict;
  }

  private TokenVerdict judge(byte[] token) {
    if (token.length > settings.tokenMax()) return new Refused(Reason.TOO_LONG, "the token is too long (dunlin.auth.jwt.token-max)");
    if (!looksLikeToken(token)) return malformed();
    String[] parts = new String(token, StandardCharsets.US_ASCII).split("\\.", -1);
    if (parts.length != PARTS) return malformed();
    try {
      // Of the header, only these three are read: a token chooses among keys and algorithms that are there.
      Map<String, Object> header = object(parts[HEADER]);
      if (header.containsKey("crit")) return new Refused(Reason.MALFORMED, "the token wants extensions that this server does not know");
      Optional<TokenAlgorithm> algorithm = header.get("alg") instanceof String name ? TokenAlgorithm.named(name) : Optional.empty();
      if (algorithm.isEmpty() || !settings.keys().algorithms().contains(algorithm.get())) {
        return new Refused(Reason.ALGORITHM, "the token's algorithm is not allowed (dunlin.auth.jwt.algorithms)");
      }
      Object key = header.get("kid");
      if (key != null && !(key instanceof String)) return malformed();
      Refused wrong = signature(algorithm.get(), (String) key, parts);
      return wrong == null ? claims.read(object(parts[PAYLOAD])) : wrong;
    } catch (ParseException _) {
      return malformed();
    }
  }

  private static Map<String, Object> object(String part) throws ParseException {
    Map<String, Object> read = JSONObjectUtils.parse(new Base64URL(part).decodeToString());
    if (read == null) throw new ParseException("the text null", 0);
    return read;
  }

  private static Refused malformed() {
    return new Refused(Reason.MALFORMED, "not a signed JSON Web Token");
  }

  /** Null if one of the keys has signed the token. */
  private @Nullable Refused signature(TokenAlgorithm algorithm, @Nullable String key, String[] parts) {
    List<TokenKey> candidates = keys.candidates(algorithm, key);
    if (candidates.isEmpty()) {
      return keys.mayGetMore()
          ? new Refused(Reason.KEY_AWAITED, "the keys for tokens are being fetched")
          : new Refused(Reason.KEY_UNKNOWN, "the key of the token is not known");
    }
    if (candidates.size() > KeyRing.CANDIDATES_MAX) return new Refused(Reason.KEY_UNKNOWN, "the token must say which key has signed it (kid)");
    JWSHeader header = new JWSHeader(algorithm.jose());
    byte[] signed = (parts[HEADER] + '.' + parts[PAYLOAD]).getBytes(StandardCharsets.US_ASCII);
    Base64URL signature = new Base64URL(parts[SIGNATURE]);
    for (TokenKey each : candidates) {
      try {
        if (each.verifier().verify(header, signed, signature)) return null;
      } catch (JOSEException _) {
        // The signature has not the form that the key wants.
      }
    }
    return new Refused(Reason.SIGNATURE, "the signature of the token is wrong");
  }
}
