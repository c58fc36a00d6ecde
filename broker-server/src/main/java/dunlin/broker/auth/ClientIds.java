package dunlin.broker.auth;

import dunlin.runtime.SettingException;
import java.util.Optional;
import java.util.UUID;

/**
 * The client identifiers that a user may have: a template in which {@code %u} stands for the user name and one
 * {@code *} for any text, including an empty one. {@code *} allows all client identifiers, {@code %u} only the user
 * name, {@code %u*} those that begin with it.
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

  /** @throws SettingException if the text is not a valid template */
  static ClientIds of(String template) {
    String plain = template.replace(USER, "");
    if (template.isEmpty()) throw wrong(template, "it is empty; * admits every client identifier");
    if (plain.indexOf('%') >= 0) throw wrong(template, "% must be followed by u");
    if (plain.indexOf('*') != plain.lastIndexOf('*')) throw wrong(template, "it has more than one *");
    if (plain.chars().anyMatch(Character::isISOControl)) throw wrong(template, "it has a control character");
    int star = template.indexOf('*');
    return star < 0
        ? new ClientIds(template, "", false)
        : new ClientIds(template.substring(0, star), template.substring(star + 1), true);
  }

  private static SettingException wrong(String template, String why) {
    return new SettingException("%s: \"%s\" is not a valid template: %s".formatted(KEY, template, why));
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

  /** A client identifier for a client that lets the server choose; empty if its user may have none. */
  public Optional<String> assign(String user) {
    if (any) return Optional.of("dunlin-" + UUID.randomUUID());
    if (ofUser && user.isEmpty()) return Optional.empty();
    return Optional.of(before.replace(USER, user) + (open ? UUID.randomUUID().toString() : "") + behind.replace(USER, user));
  }
}
