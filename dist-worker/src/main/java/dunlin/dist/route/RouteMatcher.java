package dunlin.dist.route;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Finds the routes of one range that topics match, for the leaders of others. */
final class RouteMatcher {
  /*
   * Owner: any thread, of any number.
   * Bounds: an answer ends with the route with which it has PIECE_BYTES, and says where to go on. So one with many routes is asked for in pieces, each of which finds
   *   and sorts all of them.
   *
   * The hash of a signature is a sum over the routes, as no order of them is promised. It is under a key that only this process knows, or a client could make up
   * filters whose routes are taken for each other.
   */
  static final int PIECE_BYTES = 64 << 10;

  /** What a route takes beside its filter. */
  private static final long ROUTE_BYTES = 64;

  private final RouteRange routes;
  private final int pieceBytes;
  private final long server;
  private final long key;

  RouteMatcher(RouteRange routes) {
    this(routes, PIECE_BYTES);
  }

  RouteMatcher(RouteRange routes, int pieceBytes) {
    var random = new SecureRandom();
    this.routes = routes;
    this.pieceBytes = pieceBytes;
    server = random.nextLong() | 1; // not 0, as that of NONE
    key = random.nextLong() | 1;
  }

  /**
   * The routes whose filters match a topic name.
   *
   * @param known what the caller has of them
   * @param after the row behind which it wants them; empty for all
   */
  RouteMatch match(String tenant, byte[] topic, MatchSignature known, byte[] after) {
    var found = new ArrayList<Route>();
    routes.match(tenant, topic, 0, topic.length, of -> add(of, found));
    var signature = signature(found);
    if (after.length == 0 && signature.equals(known)) return new RouteMatch.Unchanged();
    if (after.length == 0 && sizeOf(found) <= pieceBytes) return new RouteMatch.Found(signature, found, null);
    return piece(signature, found, after);
  }

  private static void add(FilterRoutes of, List<Route> found) {
    for (Route route : of.plain()) found.add(route);
    for (FilterRoutes.Group group : of.groups()) for (Route route : group.routes()) found.add(route);
  }

  private static long sizeOf(List<Route> found) {
    return found.stream().mapToLong(RouteMatcher::sizeOf).sum();
  }

  private static long sizeOf(Route route) {
    return ROUTE_BYTES + route.filter().text().length() + route.shard().name().length();
  }

  private record Row(byte[] key, Route route) {}

  private RouteMatch piece(MatchSignature signature, List<Route> found, byte[] after) {
    var rows =
        found.stream()
            .map(route -> new Row(RouteRows.key(route), route))
            .filter(row -> Arrays.compareUnsigned(row.key, after) > 0)
            .sorted((one, other) -> Arrays.compareUnsigned(one.key, other.key))
            .toList();
    var piece = new ArrayList<Route>();
    long bytes = 0;
    for (Row row : rows) {
      piece.add(row.route);
      bytes += sizeOf(row.route);
      if (bytes >= pieceBytes && piece.size() < rows.size()) return new RouteMatch.Found(signature, piece, row.key);
    }
    return new RouteMatch.Found(signature, piece, null);
  }

  private MatchSignature signature(List<Route> found) {
    long sum = 0;
    for (Route route : found) sum += hash(route);
    return new MatchSignature(server, found.size(), sum);
  }

  private long hash(Route route) {
    long hash = hash(key, route.filter().text());
    hash = hash(hash, route.shard().name());
    hash = step(hash, route.shard().kind().code());
    hash = step(hash, route.incarnation());
    return step(hash, route.handle());
  }

  private long hash(long from, String text) {
    long hash = from;
    for (int i = 0; i < text.length(); i++) hash = step(hash, text.charAt(i));
    return step(hash, text.length());
  }

  private long step(long hash, long value) {
    long next = (hash ^ value) * 0x9E3779B97F4A7C15L + key;
    return next ^ (next >>> 29);
  }
}
