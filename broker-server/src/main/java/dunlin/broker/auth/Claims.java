package dunlin.broker.auth;

import dunlin.broker.access.AccessRule;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What a client's credentials say of it beside who it is.
 *
 * @param end when they are no longer valid: the connection is ended then, MQTT 5 with DISCONNECT 0x87, unless the client has
 *     authenticated again. Empty for never
 * @param attributes texts that access rules may name: <code>%{token.NAME}</code> stands for that of {@code NAME}, of letters,
 *     digits, dashes and underscores
 * @param rules access rules of this client alone. They stand behind those of {@code dunlin.auth.acl-file}, and are not
 *     looked at when an {@link Authorizer} says what clients may do. They stay in memory while the client is connected
 */
public record Claims(Optional<Instant> end, Map<String, String> attributes, List<AccessRule> rules) {
  private static final Claims NONE = new Claims(Optional.empty(), Map.of(), List.of());

  public Claims {
    attributes = Map.copyOf(attributes);
    rules = List.copyOf(rules);
  }

  /** Nothing. */
  public static Claims none() {
    return NONE;
  }
}
