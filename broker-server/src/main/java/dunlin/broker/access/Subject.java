package dunlin.broker.access;

import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The client that rules are applied to.
 *
 * @param user its user name, empty for a client without one
 * @param attributes what else is known of it, by the names that rules use: {@code cert.cn}, {@code cert.dns}
 *     and others of its certificate, {@code token.} and the name of a claim of its token
 * @param connected whether its attributes are known. For a will that is sent after the connection has ended they are
 *     not: then a rule that allows is taken to match any value of them, because it matched at CONNECT, and a rule that
 *     denies to match none
 */
public record Subject(String tenant, String clientId, String user, Map<String, String> attributes, boolean connected) {
  static final String CLIENT_ID = "c";
  static final String USER = "u";
  static final String TENANT = "tenant";

  public Subject {
    attributes = Map.copyOf(attributes);
  }

  /** A client without attributes. */
  public static Subject of(String tenant, String clientId, String user) {
    return new Subject(tenant, clientId, user, Map.of(), true);
  }

  /**
   * What a placeholder stands for as one level of a topic name. Empty if there is no such value, or if it is no single
   * level: with {@code /}, {@code +}, {@code #} or U+0000 it could say something else than its text.
   */
  Optional<String> level(String placeholder) {
    String value = value(placeholder);
    if (value == null || value.isEmpty()) return Optional.empty();
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '/' || c == '+' || c == '#' || c == 0) return Optional.empty();
    }
    return Optional.of(value);
  }

  private @Nullable String value(String placeholder) {
    return switch (placeholder) {
      case CLIENT_ID -> clientId;
      case USER -> user;
      case TENANT -> tenant;
      default -> attributes.get(placeholder);
    };
  }

  static boolean isAttribute(String placeholder) {
    return !placeholder.equals(CLIENT_ID) && !placeholder.equals(USER) && !placeholder.equals(TENANT);
  }
}
