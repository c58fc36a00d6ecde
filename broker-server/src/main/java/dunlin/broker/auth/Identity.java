package dunlin.broker.auth;

import dunlin.model.Publisher;
import java.util.regex.Pattern;

/**
 * Who a client is, as its authentication has found out.
 *
 * @param tenant the namespace of its session and its topics: 1 to 64 letters, digits, dots, dashes and underscores
 * @param user its name, empty for a client that was not authenticated; text as UTF-8 has it, since its sessions keep it
 */
public record Identity(String tenant, String user) {
  private static final Pattern TENANT = Pattern.compile("[A-Za-z0-9._-]{1,64}");

  /** A client that was let in without any proof. */
  public static final Identity ANONYMOUS = of("");

  public Identity {
    // It is the first part of every key in the stores, and a U+0000 in it would end it early.
    if (!TENANT.matcher(tenant).matches()) throw new IllegalArgumentException("tenant of " + tenant.length() + " characters");
    // Two names with halves of characters would become the same one when they are stored.
    if (!isText(user)) throw new IllegalArgumentException("user name with U+0000 or half a character");
  }

  /** Whether it is the same text when it comes back from UTF-8. */
  public static boolean isText(String name) {
    return name.codePoints().noneMatch(c -> c == 0 || Character.getType(c) == Character.SURROGATE);
  }

  /** A user of the default tenant. */
  public static Identity of(String user) {
    return new Identity(Publisher.DEFAULT_TENANT, user);
  }
}
