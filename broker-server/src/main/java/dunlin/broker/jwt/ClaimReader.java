package dunlin.broker.jwt;

import dunlin.broker.access.AccessRule;
import dunlin.broker.access.AclFile;
import dunlin.broker.jwt.TokenVerdict.Accepted;
import dunlin.broker.jwt.TokenVerdict.Reason;
import dunlin.broker.jwt.TokenVerdict.Refused;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Reads the claims of a token whose signature is right: whether it is for this broker and now, and what it says of its client. */
final class ClaimReader {
  /*
   * Owner: any thread.
   * Bounds: the token. Its access rules have bounds of their own, since they stay with the connection; see AclFile.
   * Failure: a claim that is missing or of the wrong kind refuses the token. Nothing of a token is left out because it cannot be read: it
   * might be a rule that denies.
   */
  /** The end of the year 9999; later times are no times. */
  private static final double SECONDS_MAX = 253_402_300_799.0;

  private final JwtSettings.Demands demands;
  private final JwtSettings.Meaning meaning;
  private final InstantSource wall;

  /** A claim is not as it has to be. */
  private static final class WrongClaimException extends RuntimeException {
    final Reason reason;

    WrongClaimException(Reason reason, String explanation) {
      super(explanation, null, false, false);
      this.reason = reason;
    }
  }

  ClaimReader(JwtSettings.Demands demands, JwtSettings.Meaning meaning, InstantSource wall) {
    this.demands = demands;
    this.meaning = meaning;
    this.wall = wall;
  }

  TokenVerdict read(Map<String, Object> claims) {
    try {
      Instant end = checkTime(claims);
      checkOrigin(claims);
      for (String each : demands.required()) checkRequired(claims, each);
      return new Accepted(
          text(claims, meaning.user()),
          meaning.tenant().isEmpty() ? "" : text(claims, meaning.tenant()),
          clientIds(claims),
          end,
          attributes(claims),
          rules(claims));
    } catch (WrongClaimException e) {
      return new Refused(e.reason, String.valueOf(e.getMessage()));
    }
  }

  /** Answers when the token is no longer accepted. */
  private Instant checkTime(Map<String, Object> claims) {
    long now = wall.instant().getEpochSecond();
    long skew = demands.clockSkew().toSeconds();
    long end = time(claims, "exp").orElseThrow(() -> new WrongClaimException(Reason.CLAIMS, "the token has no end (exp)")) + skew;
    if (end <= now) throw new WrongClaimException(Reason.EXPIRED, "the token has expired");
    if (time(claims, "nbf").orElse(0) - skew > now) throw new WrongClaimException(Reason.NOT_YET_VALID, "the token is not valid yet");
    if (time(claims, "iat").orElse(0) - skew > now) throw new WrongClaimException(Reason.NOT_YET_VALID, "the token was issued in the future");
    return Instant.ofEpochSecond(end);
  }

  private static OptionalLong time(Map<String, Object> claims, String name) {
    Object value = claims.get(name);
    if (value == null) return OptionalLong.empty();
    double seconds = value instanceof Number number ? number.doubleValue() : Double.NaN;
    if (!(seconds >= 0 && seconds <= SECONDS_MAX)) throw wrong(name + " is no time");
    return OptionalLong.of((long) seconds);
  }

  private void checkOrigin(Map<String, Object> claims) {
    if (!demands.issuer().isEmpty() && !demands.issuer().equals(claims.get("iss"))) {
      throw new WrongClaimException(Reason.NOT_FOR_US, "the token is from another issuer (dunlin.auth.jwt.issuer)");
    }
    if (!demands.audience().isEmpty() && (claims.get("aud") == null || texts(claims, "aud").stream().noneMatch(demands.audience()::contains))) {
      throw new WrongClaimException(Reason.NOT_FOR_US, "the token is for another audience (dunlin.auth.jwt.audience)");
    }
  }

  private static void checkRequired(Map<String, Object> claims, String demand) {
    int equals = demand.indexOf('=');
    String name = equals < 0 ? demand : demand.substring(0, equals);
    if (claims.get(name) == null) throw wrong("a claim is missing (dunlin.auth.jwt.required-claims)");
    if (equals >= 0 && !texts(claims, name).contains(demand.substring(equals + 1))) {
      throw wrong("a claim has another value (dunlin.auth.jwt.required-claims)");
    }
  }

  private List<String> clientIds(Map<String, Object> claims) {
    if (meaning.clientId().isEmpty()) return List.of();
    List<String> all = texts(claims, meaning.clientId());
    if (all.isEmpty()) throw wrong(meaning.clientId() + " is an empty list"); // which must not stand for any
    return all;
  }

  private Map<String, String> attributes(Map<String, Object> claims) {
    Map<String, String> attributes = new HashMap<>();
    for (String name : meaning.attributes()) {
      Object value = claims.get(name);
      if (value instanceof String || value instanceof Long || value instanceof Integer || value instanceof Boolean) attributes.put(name, value.toString());
    }
    return attributes;
  }

  private List<AccessRule> rules(Map<String, Object> claims) {
    if (meaning.rules().isEmpty() || claims.get(meaning.rules()) == null) return List.of();
    if (!(claims.get(meaning.rules()) instanceof List<?>)) throw wrong(meaning.rules() + " is no list of texts");
    try {
      return AclFile.ofClient("token", texts(claims, meaning.rules()));
    } catch (AclFile.MalformedException e) {
      throw wrong(meaning.rules() + ": " + e.getMessage());
    }
  }

  private static String text(Map<String, Object> claims, String name) {
    if (claims.get(name) instanceof String text && !text.isEmpty()) return text;
    throw wrong(name + " is missing, or no text");
  }

  /** A text, or a list of texts. */
  private static List<String> texts(Map<String, Object> claims, String name) {
    Object value = claims.get(name);
    return value instanceof List<?> list ? list.stream().map(each -> textOf(each, name)).toList() : List.of(textOf(value, name));
  }

  private static String textOf(@Nullable Object value, String name) {
    if (value instanceof String text) return text;
    throw wrong(name + " is neither a text nor a list of texts");
  }

  private static WrongClaimException wrong(String explanation) {
    return new WrongClaimException(Reason.CLAIMS, explanation);
  }
}
