package dunlin.broker.auth;

import dunlin.broker.auth.EnhancedAuthenticator.Exchange;
import dunlin.broker.auth.EnhancedAuthenticator.Step;
import dunlin.broker.password.SaslPrep;
import dunlin.broker.password.ScramVerifier;
import dunlin.model.ReasonCode;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The server's side of one SCRAM-SHA-256 exchange; RFC 5802 and RFC 7677. Channel binding is not supported. */
final class ScramExchange implements Exchange {
  /*
   * Owner: the caller of its steps, one after another.
   * Bounds: two steps; keeps the first message, of at most MESSAGE_MAX characters.
   * Failure: any invalid or unexpected message fails the exchange, and so does every further step. An unknown user is
   * treated like a wrong password, with a verifier that no password matches.
   */
  private static final int MESSAGE_MAX = 4_096;
  private static final Step.Failure FAILED = new Step.Failure(ReasonCode.NOT_AUTHORIZED, "not authenticated");
  private static final Step.Failure MALFORMED = new Step.Failure(ReasonCode.NOT_AUTHORIZED, "malformed SCRAM message");

  private static final String NONCE = "[!-+\\--~]+";
  private static final Pattern FIRST =
      Pattern.compile("(?<header>(?<binding>n|y|p=[A-Za-z0-9.-]+),(?:a=(?<authzid>[^,]+))?,)"
          + "(?<bare>n=(?<name>[^,]+),r=(?<nonce>" + NONCE + ")(?:,[A-Za-z]=[^,]+)*)");
  private static final Pattern FINAL =
      Pattern.compile("(?<unproven>c=(?<header>[A-Za-z0-9+/=]+),r=(?<nonce>" + NONCE + ")(?:,[A-Za-oq-z]=[^,]+)*)"
          + ",p=(?<proof>[A-Za-z0-9+/=]+)");

  private final Users users;
  private final String serverNonce;

  private State state = State.FIRST;
  private String header = "";
  private String nonce = "";
  private String messages = "";
  private @Nullable User user;

  private enum State {
    FIRST,
    FINAL,
    OVER
  }

  /** The users. */
  interface Users {
    /**
     * The user of a prepared name. For an unknown name, a user that no password matches, always the same for one name.
     */
    User user(String name);
  }

  /** A user of a password file. */
  record User(Identity identity, ScramVerifier verifier) {}

  /** @param serverNonce characters that were not used in any other exchange */
  ScramExchange(Users users, String serverNonce) {
    this.users = users;
    this.serverNonce = serverNonce;
  }

  @Override
  public CompletionStage<Step> next(byte[] data) {
    State now = state;
    state = State.OVER;
    String message = text(data);
    Step step =
        message == null
            ? MALFORMED
            : switch (now) {
              case FIRST -> first(message);
              case FINAL -> last(message);
              case OVER -> FAILED;
            };
    return CompletableFuture.completedFuture(step);
  }

  private static @Nullable String text(byte[] data) {
    if (data.length > MESSAGE_MAX) return null;
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data)).toString();
    } catch (CharacterCodingException _) {
      return null;
    }
  }

  private Step first(String message) {
    Matcher matcher = FIRST.matcher(message);
    if (!matcher.matches()) return MALFORMED;
    if (matcher.group("binding").startsWith("p")) {
      return new Step.Failure(ReasonCode.NOT_AUTHORIZED, "channel binding is not supported");
    }
    Optional<String> name = unescaped(matcher.group("name")).flatMap(SaslPrep::prepare);
    if (name.isEmpty()) return MALFORMED;
    String authzid = matcher.group("authzid");
    // A user may not act on behalf of another one.
    if (authzid != null && !unescaped(authzid).flatMap(SaslPrep::prepare).equals(name)) return FAILED;

    User found = users.user(name.get());
    user = found;
    header = matcher.group("header");
    nonce = matcher.group("nonce") + serverNonce;
    String answer =
        "r=" + nonce + ",s=" + Base64.getEncoder().encodeToString(found.verifier().salt()) + ",i=" + found.verifier().iterations();
    messages = matcher.group("bare") + ',' + answer + ',';
    state = State.FINAL;
    return new Step.Continue(answer.getBytes(StandardCharsets.US_ASCII));
  }

  /** RFC 5802, section 5.1: "=2C" is a comma, "=3D" an equals sign, and no other "=" is allowed. */
  private static Optional<String> unescaped(String name) {
    String rest = name.replace("=2C", "").replace("=3D", "");
    return rest.indexOf('=') >= 0 ? Optional.empty() : Optional.of(name.replace("=2C", ",").replace("=3D", "="));
  }

  private Step last(String message) {
    Matcher matcher = FINAL.matcher(message);
    if (!matcher.matches()) return MALFORMED;
    byte[] binding = decoded(matcher.group("header"));
    byte[] proof = decoded(matcher.group("proof"));
    if (binding == null || proof == null) return MALFORMED;
    User claimed = user;
    byte[] all = (messages + matcher.group("unproven")).getBytes(StandardCharsets.UTF_8);
    if (claimed == null
        || !new String(binding, StandardCharsets.UTF_8).equals(header)
        || !matcher.group("nonce").equals(nonce)
        || !claimed.verifier().proves(proof, all)) {
      return FAILED;
    }
    String signature = "v=" + Base64.getEncoder().encodeToString(claimed.verifier().serverSignature(all));
    return new Step.Success(signature.getBytes(StandardCharsets.US_ASCII), claimed.identity());
  }

  private static byte @Nullable [] decoded(String base64) {
    try {
      return Base64.getDecoder().decode(base64);
    } catch (IllegalArgumentException _) {
      return null;
    }
  }
}
