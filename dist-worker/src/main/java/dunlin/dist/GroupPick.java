package dunlin.dist;

import dunlin.dist.route.Route;
import dunlin.model.Publisher;
import dunlin.model.ShardId;
import dunlin.transport.Terms;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/** Picks the shard of a group that gets a message. */
final class GroupPick {
  /*
   * A repetition of a recorded QoS 2 exchange goes to the shard that was picked first: the message may be there, and must
   * not come to a second member. The lane that it comes from was told that pick, unless the leader crashed in the moment
   * of it. Then a frontend is picked, if there is one: the record of the exchange would keep the message from inbox
   * shards, so no member might get it. When the frontend that was picked first has ended, and there is no other, the message
   * has moved to an inbox shard, which does not have it by the record.
   *
   * Owner: the lane's thread.
   */

  /** The credit of a shard that accepts a message only to keep it. */
  private static final int KEEPS = 1;

  /** The bit of a pick's number that says that it is an inbox shard. */
  private static final long INBOX = 1;

  private final SplittableRandom random = new SplittableRandom();
  private final ToIntFunction<Route> credits;
  private final Predicate<ShardId> detached;

  /**
   * @param credits the credit of a group's route, -1 when no destination serves its shard
   * @param detached whether a shard has ended with its frontend
   */
  GroupPick(ToIntFunction<Route> credits, Predicate<ShardId> detached) {
    this.credits = credits;
    this.detached = detached;
  }

  /**
   * One of some routes of a group; there must be one.
   *
   * @param origin of a message that is delivered to one member even if it comes again; null for others
   */
  Route of(Route[] shards, boolean ordered, Publisher publisher, Terms.@Nullable Origin origin) {
    if (shards.length == 1) return shards[0];
    if (origin == null) return anew(shards, ordered, publisher);
    Route before = before(shards, origin.picked());
    if (before != null) return before;
    if (!origin.repeated() || ordered) return anew(shards, ordered, publisher);
    Route[] frontends = Arrays.stream(shards).filter(this::isAtFrontend).toArray(Route[]::new);
    return anew(frontends.length > 0 ? frontends : shards, false, publisher);
  }

  /**
   * Whether the record of a message's exchange does not include the group whose inbox shard is picked: a frontend was picked
   * before, and no inbox shard. Without any known pick, that is taken to be so if the group has frontends, though none that can be reached: it
   * had better come to two members than to none. In an ordered group the publisher's shard is the same again.
   */
  static boolean isMoved(Route[] shards, boolean ordered, Terms.Origin origin, Route picked) {
    if (picked.shard().kind() != ShardId.Kind.INBOX || !origin.repeated()) return false;
    boolean known = false;
    for (long number : origin.picked()) {
      if (number >>> 32 != numberOf(picked) >>> 32) continue;
      if ((number & INBOX) != 0) return false;
      known = true;
    }
    return known || (!ordered && shards.length > 1);
  }

  private boolean isAtFrontend(Route route) {
    return route.shard().kind() == ShardId.Kind.FRONTEND && credits.applyAsInt(route) >= 0;
  }

  private @Nullable Route before(Route[] shards, List<Long> picked) {
    for (int i = picked.size() - 1; i >= 0; i--) {
      long number = picked.get(i);
      for (Route route : shards) if (number == numberOf(route) && !detached.test(route.shard())) return route;
    }
    return null;
  }

  private Route anew(Route[] shards, boolean ordered, Publisher publisher) {
    return shards.length == 1 ? shards[0] : ordered ? sticky(shards, publisher) : ready(shards);
  }

  /**
   * A number for a group at a shard, the same in all processes: its upper half is of the group, its lowest bit says whether the shard is
   * an inbox. Two groups of a message hardly ever have the same upper half.
   */
  static long numberOf(Route route) {
    long group = mix(route.filter().text().hashCode()) & 0xFFFF_FFFF_0000_0000L;
    long shard = mix(hash(route.shard())) & 0xFFFF_FFFEL;
    return group | shard | (route.shard().kind() == ShardId.Kind.INBOX ? INBOX : 0);
  }

  /** Not ShardId.hashCode(), since an enum's hash code differs between JVMs. */
  private static long hash(ShardId shard) {
    return 31L * shard.name().hashCode() + shard.kind().code();
  }

  /**
   * One of two random shards, picked in proportion to their credit: a shard with three times the members gets three
   * times the messages, and one whose members fall behind gets fewer. If one of the two has no members that can take
   * the message now, the best shard of all. If none has any credit, still one of them: its destination decides between
   * waiting and refusing. All shards are local, so none is preferred for that.
   */
  private Route ready(Route[] shards) {
    int one = random.nextInt(shards.length);
    int two = random.nextInt(shards.length - 1);
    if (two >= one) two++;
    int creditOfOne = credits.applyAsInt(shards[one]);
    int creditOfTwo = credits.applyAsInt(shards[two]);
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
    long publisherHash = mix(31L * publisher.tenant().hashCode() + publisher.clientId().hashCode());
    Route best = shards[0];
    long highest = Long.MIN_VALUE;
    for (Route route : shards) {
      if (credits.applyAsInt(route) < 0) continue;
      long score = mix(publisherHash ^ mix(hash(route.shard())));
      if (score > highest) {
        highest = score;
        best = route;
      }
    }
    return best;
  }

  private static long mix(long value) {
    long z = (value + 0x9E3779B97F4A7C15L) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}
