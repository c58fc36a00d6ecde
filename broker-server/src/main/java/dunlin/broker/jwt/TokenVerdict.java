package dunlin.broker.jwt;

import dunlin.broker.access.AccessRule;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/** What is to be said of a token. */
public sealed interface TokenVerdict {
  /**
   * The token is accepted.
   *
   * @param user the user name that it is for; not empty
   * @param tenant empty for the default
   * @param clientIds the client identifiers that it is for; empty for any
   * @param end when it is no longer accepted
   * @param attributes the texts of the claims that access rules may name
   * @param rules its access rules, in their order
   */
  record Accepted(String user, String tenant, List<String> clientIds, Instant end, Map<String, String> attributes, List<AccessRule> rules)
      implements TokenVerdict {
    public Accepted {
      clientIds = List.copyOf(clientIds);
      attributes = Map.copyOf(attributes);
      rules = List.copyOf(rules);
    }
  }

  /** @param explanation for operators and the client; quotes nothing of the token */
  record Refused(Reason reason, String explanation) implements TokenVerdict {}

  /** Why a token is refused; a tag of the metrics. */
  enum Reason {
    /** It is longer than {@code dunlin.auth.jwt.token-max}. */
    TOO_LONG,
    /** It is no JWT in the compact form. */
    MALFORMED,
    /** Its algorithm is not allowed. */
    ALGORITHM,
    /** There is no such key. */
    KEY_UNKNOWN,
    /** Its key may come with the next fetch of keys, or no keys have been fetched yet. */
    KEY_AWAITED,
    /** The signature is wrong. */
    SIGNATURE,
    /** It has ended. */
    EXPIRED,
    /** It has not begun. */
    NOT_YET_VALID,
    /** It is from another issuer, or for another audience. */
    NOT_FOR_US,
    /** A claim is missing, or not of the right kind. */
    CLAIMS
  }
}
