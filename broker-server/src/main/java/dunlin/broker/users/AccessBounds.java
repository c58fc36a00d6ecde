package dunlin.broker.users;

/**
 * The most that the range may have.
 *
 * @param bytesMax of all rows together, with their keys
 */
public record AccessBounds(int usersMax, int rolesMax, int bansMax, long bytesMax) {}
