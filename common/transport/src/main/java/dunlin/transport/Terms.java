package dunlin.transport;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A publisher's terms for the destinations of a message. They accompany the message.
 *
 * @param toldOfDrops whether the publisher can be told that one copy was dropped, without resending the message to all
 *     subscribers
 * @param storesFirst whether destinations that store the message get it first, and the others only when it is stored or
 *     a limit has refused it. So an attempt that fails because the store is not available has delivered it nowhere, and
 *     can be repeated
 * @param publishedOnce whether the message is not published again when it is refused, as with a will: then a limit of
 *     one destination keeps it from that one only, and not from all
 * @param fence the unique number of the connection that is closed when the message is refused: its client then resends
 *     the message and all later ones. A destination that refuses the message must not accept the later ones first, or
 *     they would overtake it. 0 when a refusal closes nothing
 * @param origin by which a repetition of the message is recognised; null for a message that is delivered again each time
 *     that it is sent
 */
public record Terms(boolean toldOfDrops, boolean storesFirst, boolean publishedOnce, long fence, @Nullable Origin origin) {
  /** The terms of a publisher that gets a reason code for each message. */
  public static final Terms ANSWERED = new Terms(true, false, false, 0);

  /** The terms of a will, which the broker publishes. */
  public static final Terms WILL = new Terms(true, true, true, 0);

  /**
   * A message's number on the lane that it came from. A repetition of the message has the same one.
   *
   * @param stream the lane, a random number; another one for each run of its process
   * @param number increasing on the lane
   * @param settled messages with a lower number are not sent again
   * @param repeated whether the message may have been delivered before, to some or all of its destinations
   * @param picked what was {@linkplain Acknowledgement#picked picked} for the message's groups, the last one last; at
   *     most PICKED_MAX
   */
  public record Origin(long stream, long number, long settled, boolean repeated, List<Long> picked) {
    /** Groups of one message whose picks are remembered. */
    public static final int PICKED_MAX = 64;

    /** Stands for a lane: that of all wills whose sending is recorded. */
    public static final long WILLS = 0;

    public Origin {
      if (settled > number) throw new IllegalArgumentException("message " + number + " of a lane, settled up to " + settled);
      if (picked.size() > PICKED_MAX) throw new IllegalArgumentException(picked.size() + " shards are picked");
      picked = List.copyOf(picked);
    }

    /** The origin of a message that may have been delivered before. */
    public Origin asRepetition() {
      return new Origin(stream, number, settled, true, picked);
    }

    /** Of a message that a client has published again, as it was recorded when it came first. */
    public static Origin fromRecord(long stream, long number, List<Long> picked) {
      return new Origin(stream, number, 0, true, picked);
    }

    /**
     * Of the will of the connection with this epoch, whichever node sends it, and over whichever lane.
     *
     * @param repeated whether it may have been sent before
     */
    public static Origin ofWill(long epoch, boolean repeated) {
      return new Origin(WILLS, epoch, 0, repeated);
    }

    /** Whether it is the origin of a will. */
    public boolean isOfWill() {
      return stream == WILLS;
    }

    /**
     * Whether a client has published the message again over another connection, or a will is sent again. What a lane sends again of other messages says what is settled, from 1 on.
     */
    public boolean isFromRecord() {
      return repeated && settled == 0;
    }

    /** The same with more picks behind its own, each once, as far as there is room for them. */
    public Origin withPicked(List<Long> more) {
      var all = new LinkedHashSet<>(picked);
      for (long pick : more) if (all.remove(pick) || all.size() < PICKED_MAX) all.add(pick);
      return new Origin(stream, number, settled, repeated, List.copyOf(all));
    }

    /**
     * With what was picked for a repetition, too; for a group only what was picked behind the last pick of this one. A repetition that did not know that
     * has gone elsewhere.
     */
    public Origin withPicksOf(Origin repetition) {
      var more = new ArrayList<Long>();
      for (long pick : repetition.picked) {
        var last = picked.reversed().stream().filter(each -> Pick.areOfOneGroup(each, pick)).findFirst();
        if (last.isEmpty() || (repetition.picked.contains(last.get()) && repetition.picked.indexOf(last.get()) < repetition.picked.indexOf(pick))) more.add(pick);
      }
      return withPicked(more);
    }

    /** Whether it is the origin of the same message. */
    public boolean isOfSame(Origin other) {
      return stream == other.stream && number == other.number;
    }

    /** Whether a repetition knows the last pick for a group, if there is one. */
    public boolean isKnownTo(Origin repetition, TopicFilter group) {
      var last = picked.reversed().stream().filter(pick -> Pick.isOf(group, pick)).findFirst();
      return last.isEmpty() || repetition.picked.contains(last.get());
    }

    /** Whether an inbox shard was picked for a group. */
    public boolean isStoredFor(TopicFilter group) {
      return storedFor(group).isPresent();
    }

    /** The inbox shard that was picked for a group, the last one if there are several. */
    public Optional<Long> storedFor(TopicFilter group) {
      return picked.reversed().stream().filter(pick -> Pick.isOf(group, pick) && Pick.isStored(pick)).findFirst();
    }

    public Origin(long stream, long number, long settled, boolean repeated) {
      this(stream, number, settled, repeated, List.of());
    }
  }

  /**
   * A shard that was picked for a group, as a number that is the same in all processes: its upper half is of the group, its lowest bit says
   * whether the shard is an inbox. Two groups of a message hardly ever have the same upper half.
   */
  public static final class Pick {
    private static final long GROUP = 0xFFFF_FFFF_0000_0000L;
    private static final long STORED = 1;

    /** Says that all destinations have the message, in the place of a pick. */
    public static final long DELIVERED = -1;

    private Pick() {}

    /** The number of a shard that is picked for a group. */
    public static long of(TopicFilter group, ShardId shard) {
      long place = spread(hash(shard)) & ~GROUP & ~STORED;
      return numberOf(group) | place | (shard.kind() == ShardId.Kind.INBOX ? STORED : 0);
    }

    /** Whether a shard was picked for this group. */
    public static boolean isOf(TopicFilter group, long pick) {
      return (pick & GROUP) == numberOf(group);
    }

    static boolean areOfOneGroup(long pick, long other) {
      return (pick & GROUP) == (other & GROUP);
    }

    /** Whether the shard is an inbox. */
    public static boolean isStored(long pick) {
      return (pick & STORED) != 0;
    }

    /** The number of a group, which the picks for it have in common. */
    public static long numberOf(TopicFilter group) {
      return spread(group.text().hashCode()) & GROUP;
    }

    /** Not ShardId.hashCode(), since an enum's hash code differs between JVMs. */
    public static long hash(ShardId shard) {
      return 31L * shard.name().hashCode() + shard.kind().code();
    }

    /** A hash whose bits all depend on all bits of another one. */
    public static long spread(long hash) {
      long z = (hash + 0x9E3779B97F4A7C15L) * 0xBF58476D1CE4E5B9L;
      z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
      return z ^ (z >>> 31);
    }
  }

  public Terms(boolean toldOfDrops, boolean storesFirst, boolean publishedOnce, long fence) {
    this(toldOfDrops, storesFirst, publishedOnce, fence, null);
  }

  /** The terms of a publisher that can only be disconnected, on the connection with this number. */
  public static Terms disconnecting(long fence) {
    return new Terms(false, false, false, fence);
  }

  /** The same terms for a message of this origin. */
  public Terms from(Origin lane) {
    return new Terms(toldOfDrops, storesFirst, publishedOnce, fence, lane);
  }

  /** Whether the message may have been delivered before. */
  public boolean repeated() {
    return origin != null && origin.repeated();
  }
}
