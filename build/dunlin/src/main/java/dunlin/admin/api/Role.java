package dunlin.admin.api;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** What the holder of a token may do; each role includes those before it. */
public enum Role {
  /** Sees everything but secrets and payloads. */
  VIEWER,
  /** Also disconnects and bans clients, publishes, reads payloads, drains the node and changes log levels. */
  OPERATOR,
  /** Also deletes sessions and retained messages, changes users and their roles, and changes the cluster. */
  ADMIN;

  public boolean includes(Role needed) {
    return compareTo(needed) >= 0;
  }

  /** As files and options spell it: {@code viewer}. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  public static Optional<Role> of(String label) {
    return Arrays.stream(values()).filter(role -> role.label().equals(label)).findFirst();
  }
}
