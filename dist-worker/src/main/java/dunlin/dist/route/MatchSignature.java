package dunlin.dist.route;

/**
 * Stands for the routes of one range that a topic matches, so that a caller who has them need not get them again. Two are equal when the routes are, but for one case in
 * 2^64.
 *
 * @param server a random number of the leadership that made it: signatures of others mean nothing to it
 * @param routes how many there are
 * @param hash of the routes, under a key of the leadership
 */
public record MatchSignature(long server, long routes, long hash) {
  /** Of a caller who has no routes. No leadership has its number. */
  public static final MatchSignature NONE = new MatchSignature(0, 0, 0);
}
