package dunlin.dist;

import dunlin.model.Publisher;
import java.util.SplittableRandom;
import java.util.function.ToIntFunction;

/** Picks the shard of a group that gets a message. */
final class GroupPick {
  /*
   * Owner: the lane's thread.
   */

  /** The credit of a shard that accepts a message only to keep it. */
  private static final int KEEPS = 1;

  private final SplittableRandom random = new SplittableRandom();
  private final ToIntFunction<Route> credits;

  /** @param credits the credit of a group's route, -1 when no destination serves its shard */
  GroupPick(ToIntFunction<Route> credits) {
    this.credits = credits;
  }

  /** One of some routes of a group; there must be one. */
  Route of(Route[] shards, boolean ordered, Publisher publisher) {
    return shards.length == 1 ? shards[0] : ordered ? sticky(shards, publisher) : ready(shards);
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
      // Not ShardId.hashCode(), since an enum's hash code differs between JVMs.
      long shardHash = 31L * route.shard().name().hashCode() + route.shard().kind().code();
      long score = mix(publisherHash ^ mix(shardHash));
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
