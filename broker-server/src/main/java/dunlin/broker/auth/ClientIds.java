package dunlin.broker.auth;

import dunlin.runtime.SettingException;
import java.util.Optional;
import java.util.UUID;

/**
 * Which client identifiers a user may have: a template in which {@code %u} stands for the user name and one {@code *} for any text, also
 * none. {@code *} alone leaves the choice to the client, {@code %u} is the user name and nothing else, {@code %u*} begins with it.
 */
public final class ClientIds {
  /*
   * Owner: any thread.
   * Bounds: a comparison of the two ends; no text of a client is ever a pattern.
   */
  private static final String KEY = "dunlin.auth.client-ids";
  private static final String USER = "%u";

  private final String before;
  private final String behind;
  private final boolean open;
  private final boolean any;
  private final boolean ofUser;

  private ClientIds(String before, String behind, boolean open) {
    this.before = before;
    this.behind = behind;
    this.open = open;
    any = open && before.isEmpty() && behind.isEmpty();
    ofUser = before.contains(USER) || behind.contains(USER);
  }

  /** @throws SettingException when it is no template */
  static ClientIds of(String template) {
    String plain = template.replace(USER, "");
    if (template.isEmpty()) throw wrong(template, "it is empty; * admits every client identifier");
    if (plain.indexOf('%') >= 0) throw wrong(template, "% stands in front of u only");
    if (plain.indexOf('*') != plain.lastIndexOf('*')) throw wrong(template, "there may be one *");
    if (plain.chars().anyMatch(Character::isISOControl)) throw wrong(template, "it has a control character");
    int star = template.indexOf('*');
    return star < 0
        ? new ClientIds(template, "", false)
        : new ClientIds(template.substring(0, star), template.substring(star + 1), true);
  }

  private static SettingException wrong(String template, String why) {
    return new SettingException("%s: \"%s\" is no template: %s".formatted(KEY, template, why));
  }

  /** Whether a user may have a client identifier; the user name is empty for a client without a user. */
  public boolean allows(String user, String clientId) {
    if (any) return true;
    if (ofUser && user.isEmpty()) return false;
    String first = before.replace(USER, user);
    String last = behind.replace(USER, user);
    if (!open) return clientId.equals(first);
    return clientId.length() >= first.length() + last.length() && clientId.startsWith(first) && clientId.endsWith(last);
  }

  /** An identifier for a client that leaves the choice to the server; empty when its user may have none. */
  public Optional<String> assign(String user) {
    if (any) return Optional.of("dunlin-" + UUID.randomUUID());
    if (ofUser && user.isEmpty()) return Optional.empty();
    return Optional.of(before.replace(USER, user) + (open ? UUID.randomUUID().toString() : "") + behind.replace(USER, user));
  }
}
