package dunlin.broker.users;

/**
 * The most that the range may have.
 *
 * @param bytesMax of all rows together, with their keys
 */
public record AccessBounds(int usersMax, int rolesMax, int bansMax, long bytesMax) {
  /** The most tenants, whatever the settings say: a part of what the log means, so it may only change with a new kind of command. */
  static final int TENANTS_MAX = 100_000;
}
