package dunlin.tiers;

import java.util.UUID;

/**
 * The names of links between nodes. What lane N of a frontend publishes is on lane N everywhere, so that it keeps its order when another node leads. A node
 * with fewer threads has several lanes on each.
 */
final class LinkNames {
  /** The number of lanes, whatever the number of a node's threads. */
  static final int LANES = 64;

  /** To the leader of users, roles and bans. */
  static final String ACCESS = "access";

  /** From a frontend to the leader of the routes: messages of groups that the last member there has left behind. */
  static final String REDEALS = "redeals";

  private LinkNames() {}

  /** To the leader of a range of sessions. */
  static String sessions(UUID range) {
    return "sessions-" + range;
  }

  /** From the leader of a range of sessions to that of another one: what it has. */
  static String between(UUID range) {
    return "between-" + range;
  }

  /** To the leader of a range of routes: calls that change and read them. */
  static String routes(UUID range) {
    return "routes-" + range;
  }

  /** From the leader of the first range of routes to that of another one: what topics match there. */
  static String matches(UUID range) {
    return "matches-" + range;
  }

  /** To the leader of a range of retained messages. */
  static String retained(UUID range) {
    return "retained-" + range;
  }

  /** From a frontend to the leader of the routes: messages. */
  static String lane(int number) {
    return "lane-" + number % LANES;
  }

  /** From the leader of the routes to a frontend: messages for connected sessions. */
  static String clients(int lane) {
    return "clients-" + lane % LANES;
  }

  /** From the leader of the routes to a node: messages for the application that embeds it. */
  static String application(int lane) {
    return "application-" + lane % LANES;
  }

  /** From the leader of the routes to the leader of a range of sessions: messages for its durable sessions. */
  static String shards(UUID range, int lane) {
    return "shards-" + range + "-" + lane % LANES;
  }
}
