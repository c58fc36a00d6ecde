package dunlin.admin;

import dunlin.admin.AdminTokens.TokenHolder;
import dunlin.admin.Operators.Operator;
import dunlin.admin.api.Role;
import dunlin.admin.operate.Problem;
import dunlin.broker.limit.FailureLimit;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Finds out who asks: the holder of a token, or an operator with a password. */
final class AdminEntry {
  /*
   * Owner: any thread that may block.
   * Bounds: FAILURES_MAX wrong passwords of an address in a minute (FailureLimit); then passwords from there are refused unseen until the
   * minute ends, right ones as well, or refusing would tell them apart. Tokens are random and go on being accepted.
   * Failure: a Problem with 401 or 429.
   */
  static final int FAILURES_MAX = 10;
  private static final String BEARER = "Bearer ";
  private static final String BASIC = "Basic ";

  private final AdminTokens tokens;
  private final @Nullable Operators operators;
  private final FailureLimit failures = new FailureLimit(FAILURES_MAX, System::nanoTime);

  /**
   * @param name of the token or the operator
   * @param valid whether the role is still that of this holder; asked while a stream goes on
   */
  record Holder(String name, Role role, BooleanSupplier valid) {}

  /** @param operators null when there is no TLS port, and so no operator with a password */
  AdminEntry(AdminTokens tokens, @Nullable Operators operators) {
    this.tokens = tokens;
    this.operators = operators;
  }

  /**
   * Who asks.
   *
   * @param authorization the header, empty for none
   * @throws Problem when the credentials are missing or wrong, or passwords from there are not looked at now
   */
  Holder enter(String authorization, Door door) {
    if (begins(authorization, BEARER)) return holder(authorization.substring(BEARER.length()).strip());
    if (operators != null && begins(authorization, BASIC)) return operator(operators, authorization.substring(BASIC.length()).strip(), door);
    throw unknown();
  }

  /** Schemes are compared without case; RFC 9110, section 11.1. */
  private static boolean begins(String authorization, String scheme) {
    return authorization.regionMatches(true, 0, scheme, 0, scheme.length());
  }

  private Holder holder(String token) {
    Optional<TokenHolder> holder = token.isEmpty() ? Optional.empty() : tokens.holderOf(token);
    TokenHolder found = holder.orElseThrow(this::unknown);
    return new Holder(found.name(), found.role(), () -> tokens.holderOf(token).equals(holder));
  }

  private Holder operator(Operators known, String credentials, Door door) {
    InetSocketAddress client = new InetSocketAddress(door.client(), 0);
    if (failures.exceeded(client)) throw new Problem(429, "There were too many wrong passwords from this address; ask again in a minute.");
    String pair = decoded(credentials);
    int colon = pair.indexOf(':');
    String name = colon < 0 ? pair : pair.substring(0, colon);
    try {
      Optional<Operator> found = colon < 0 ? Optional.empty() : known.find(name, pair.substring(colon + 1));
      if (found.isPresent()) return new Holder(name, found.get().role(), () -> known.isCurrent(name, found.get()));
    } catch (InterruptedException late) {
      Thread.currentThread().interrupt();
      throw new Problem(503, "Too many passwords are being compared; ask again soon.");
    }
    failures.failed(client);
    throw new Problem(401, "There is no operator with this name and password.");
  }

  private static String decoded(String credentials) {
    try {
      return new String(Base64.getDecoder().decode(credentials), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      throw new Problem(401, "The credentials are not in Base64.");
    }
  }

  private Problem unknown() {
    String way = operators == null ? "" : ", or an operator's name and password, as Authorization: Basic";
    return new Problem(
        401, "The admin API needs a valid token, as Authorization: Bearer%s; the file %s in the data directory has one.".formatted(way, AdminTokens.ACCESS_FILE));
  }
}
