package dunlin.broker.users;

import dunlin.runtime.Setting;
import dunlin.runtime.Settings;
import java.util.List;

/**
 * Whether there are users, roles and bans, and how many.
 *
 * @param enabled whether clients are authenticated and authorized by them
 */
public record UsersSettings(boolean enabled, AccessBounds bounds) {
  private static final Setting<Boolean> ENABLED =
      Setting.flag(
          "dunlin.auth.users.enabled", false,
          "Authenticates and authorizes clients by users and roles that are changed while the broker runs, refuses clients that are banned, and keeps records of tenants; see authorisation.md and tenants.md. In a"
              + " cluster, set it on all nodes: those without it admit clients as if there were no users, roles and bans.");
  private static final Setting<Integer> USERS_MAX =
      Setting.integer("dunlin.auth.users.users-max", 10_000, 1, 1_000_000, "Maximum number of users. One more is refused.");
  private static final Setting<Integer> ROLES_MAX =
      Setting.integer("dunlin.auth.users.roles-max", 1_000, 1, 100_000, "Maximum number of roles. One more is refused.");
  private static final Setting<Integer> BANS_MAX =
      Setting.integer("dunlin.auth.users.bans-max", 10_000, 1, 1_000_000, "Maximum number of bans. One more is refused.");
  private static final Setting<Long> SIZE_MAX =
      Setting.bytes(
          "dunlin.auth.users.size-max", 32L << 20, 64L << 10, 1L << 30,
          "Maximum size of all users, roles, bans and tenants, which are in memory twice. What is beyond is refused.");

  /** The settings that this class reads. */
  public static final List<Setting<?>> ALL = List.of(ENABLED, USERS_MAX, ROLES_MAX, BANS_MAX, SIZE_MAX);

  public static UsersSettings from(Settings settings) {
    return new UsersSettings(
        settings.get(ENABLED),
        new AccessBounds(settings.get(USERS_MAX), settings.get(ROLES_MAX), settings.get(BANS_MAX), settings.get(SIZE_MAX)));
  }

  /** The default: none. */
  public static UsersSettings none() {
    return new UsersSettings(
        false, new AccessBounds(USERS_MAX.defaultValue(), ROLES_MAX.defaultValue(), BANS_MAX.defaultValue(), SIZE_MAX.defaultValue()));
  }
}
