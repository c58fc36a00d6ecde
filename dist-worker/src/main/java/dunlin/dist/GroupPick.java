package dunlin.dist;

import dunlin.dist.route.Route;
import dunlin.model.Publisher;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.transport.Terms;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/** Picks the shard of a group that gets a message. */
final class GroupPick {
  /*
   * A repetition of a recorded QoS 2 exchange goes to the shard that was picked last: the message may be there, and must
   * not come to a second member. The lane that it comes from was told that pick, unless the leader crashed in the moment
   * of it, and the record of the exchange has it.
   *
   * A frontend that was picked keeps the message also when its last member has left since, and the group has no route to it any
   * more: it may have given the message to a member that has left, or to the durable members. Only the frontend knows, so it gets
   * the repetition as long as it lives.
   *
   * When that frontend has ended, its connected members have, too. The group's inbox shard gets the repetition then, if there is one: if
   * the frontend has given the message to the durable members, the record of the exchange says so, and the message is not stored again.
   *
   * Without any known pick a frontend is picked, if there is one: the leader has crashed when it picked.
   *
   * Owner: the lane's thread.
   */

  /** The credit of a shard that accepts a message only to keep it. */
  private static final int KEEPS = 1;

  private final SplittableRandom random;
  private final ToIntFunction<Route> credits;
  private final Predicate<ShardId> detached;
  private final Supplier<List<ShardId>> frontends;
  private final @Nullable ShardId own;

  /**
   * @param credits the credit of a group's route, -1 when no destination serves its shard
   * @param detached whether a shard has ended with its frontend
   * @param frontends the shards of all frontends that live
   * @param own the frontend of the node that picks; null where there is no other one
   */
  GroupPick(
      ToIntFunction<Route> credits, Predicate<ShardId> detached, Supplier<List<ShardId>> frontends, @Nullable ShardId own, SplittableRandom random) {
    this.own = own;
    this.random = random;
    this.credits = credits;
    this.detached = detached;
    this.frontends = frontends;
  }

  /**
   * One of some routes of a group; there must be one. For a repetition it may be a route that is not among them, to a frontend without
   * members.
   *
   * @param origin of a message that is delivered to one member even if it comes again; null for others
   */
  Route of(Route[] shards, boolean ordered, Publisher publisher, Terms.@Nullable Origin origin) {
    if (origin == null) return anew(shards, ordered, publisher);
    TopicFilter group = shards[0].filter();
    Route before = before(shards, group, origin.picked());
    if (before != null) return before;
    if (!origin.repeated()) return anew(shards, ordered, publisher);
    boolean known = origin.picked().stream().anyMatch(pick -> Terms.Pick.isOf(group, pick));
    for (Route route : shards) if (known && route.shard().kind() == ShardId.Kind.INBOX) return route;
    if (ordered) return anew(shards, true, publisher);
    Route[] attached = Arrays.stream(shards).filter(this::isAtFrontend).toArray(Route[]::new);
    return anew(attached.length > 0 ? attached : shards, false, publisher);
  }

  /**
   * The next frontend for a message that one has returned. It follows from the message alone: a frontend returns a repetition that comes while it looks for a
   * member together with the first delivery, and both must go to the same frontend.
   */
  static Route next(Route[] frontends, Terms.Origin origin) {
    long of = Terms.Pick.spread(origin.stream() + origin.number());
    return Arrays.stream(frontends).max(Comparator.comparingLong(each -> Terms.Pick.spread(of ^ numberOf(each)))).orElseThrow();
  }

  private boolean isAtFrontend(Route route) {
    return route.shard().kind() == ShardId.Kind.FRONTEND && credits.applyAsInt(route) >= 0;
  }

  /** The shard that may have the message; null when it has ended, or none is known. */
  @Nullable Route before(Route[] shards, TopicFilter group, List<Long> picked) {
    boolean ended = false;
    for (int i = picked.size() - 1; i >= 0; i--) {
      long pick = picked.get(i);
      boolean stored = Terms.Pick.isStored(pick);
      if (!Terms.Pick.isOf(group, pick) || (ended && !stored)) continue;
      Route route = find(shards, pick);
      if (route == null && !stored) route = withoutMembers(shards, group, pick);
      if (route != null && !detached.test(route.shard())) return route;
      ended |= !stored;
    }
    return null;
  }

  private static @Nullable Route find(Route[] shards, long pick) {
    for (Route route : shards) if (pick == numberOf(route)) return route;
    return null;
  }

  /** A route to a frontend that lives and has no member any more; a frontend knows no route of incarnation 0. */
  private @Nullable Route withoutMembers(Route[] shards, TopicFilter group, long pick) {
    for (ShardId frontend : frontends.get()) if (pick == Terms.Pick.of(group, frontend)) return new Route(shards[0].tenant(), group, frontend, 0, 0);
    return null;
  }

  private Route anew(Route[] shards, boolean ordered, Publisher publisher) {
    return shards.length == 1 ? shards[0] : ordered ? sticky(shards, publisher) : ready(shards);
  }

  static long numberOf(Route route) {
    return Terms.Pick.of(route.filter(), route.shard());
  }

  /**
   * One of two random shards, picked in proportion to their credit: a shard with three times the members gets three
   * times the messages, and one whose members fall behind gets fewer. If one of the two has no members that can take
   * the message now, the best shard of all. If none has any credit, still one of them: its destination decides between
   * waiting and refusing. Of two with equal credit it is the own node, since the way there crosses no network: while there is so
   * little to do that all have their whole credit, its members get all.
   */
  private Route ready(Route[] shards) {
    int one = random.nextInt(shards.length);
    int two = random.nextInt(shards.length - 1);
    if (two >= one) two++;
    int creditOfOne = credits.applyAsInt(shards[one]);
    int creditOfTwo = credits.applyAsInt(shards[two]);
    if (creditOfOne == creditOfTwo && creditOfOne > KEEPS) {
      if (shards[one].shard().equals(own)) return shards[one];
      if (shards[two].shard().equals(own)) return shards[two];
    }
    if (creditOfOne > KEEPS && creditOfTwo > KEEPS)
      return shards[random.nextLong((long) creditOfOne + creditOfTwo) < creditOfOne ? one : two];
    int best = creditOfTwo > creditOfOne ? two : one;
    int most = Math.max(creditOfOne, creditOfTwo);
    for (int i = 1; most <= KEEPS && i < shards.length; i++) {
      int next = (one + i) % shards.length;
      int credit = credits.applyAsInt(shards[next]);
      if (credit > most) {
        most = credit;
        best = next;
      }
    }
    return shards[best];
  }

  /** Rendezvous hashing: a publisher changes its shard only when that one is removed or a better one is added. */
  private Route sticky(Route[] shards, Publisher publisher) {
    long publisherHash = Terms.Pick.spread(31L * publisher.tenant().hashCode() + publisher.clientId().hashCode());
    Route best = shards[0];
    long highest = Long.MIN_VALUE;
    for (Route route : shards) {
      if (credits.applyAsInt(route) < 0) continue;
      long score = Terms.Pick.spread(publisherHash ^ Terms.Pick.spread(Terms.Pick.hash(route.shard())));
      if (score > highest) {
        highest = score;
        best = route;
      }
    }
    return best;
  }
}
