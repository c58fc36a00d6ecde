package dunlin.broker.auth;

import dunlin.broker.tenant.TenantSettings;
import dunlin.model.Publisher;

/**
 * The authenticated identity of a client.
 *
 * @param tenant the namespace of its session and its topics: 1 to 64 letters, digits, dots, dashes and underscores
 * @param user its user name, empty for a client that was not authenticated; valid Unicode, because sessions store it as
 *     UTF-8
 */
public record Identity(String tenant, String user) {
  /** A client that was admitted without authentication. */
  public static final Identity ANONYMOUS = of("");

  public Identity {
    // The tenant is the first part of every key in the stores, and U+0000 would terminate it.
    if (!TenantSettings.isName(tenant)) throw new IllegalArgumentException("tenant of " + tenant.length() + " characters");
    // Two different names with unpaired surrogates would become equal when they are stored.
    if (!isText(user)) throw new IllegalArgumentException("user name with U+0000 or an unpaired surrogate");
  }

  /** Whether the text is unchanged after encoding to UTF-8 and back. */
  public static boolean isText(String name) {
    return name.codePoints().noneMatch(c -> c == 0 || Character.getType(c) == Character.SURROGATE);
  }

  /** The same user in another tenant. */
  public Identity in(String other) {
    return new Identity(other, user);
  }

  /** A user of the default tenant. */
  public static Identity of(String user) {
    return new Identity(Publisher.DEFAULT_TENANT, user);
  }
}
