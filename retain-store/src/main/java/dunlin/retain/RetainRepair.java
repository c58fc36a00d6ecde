package dunlin.retain;

import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.RangeReader;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;

/** Lists large retained messages, and removes one by its topic, in a store that was started for that and serves no clients. */
public final class RetainRepair {
  /*
   * Owner: one thread, which waits for each step. A removal goes through the log like a client's empty message
   * [MQTT-3.3.1-6]: direct changes of rows would be overwritten by the entries that the next start replays.
   */

  /** The kind of the ranges of retained messages. */
  public static final String RANGE = "retain";

  private final Range<RetainCommand, RetainResult> range;

  /** A stored message of a topic. */
  public record Stored(String tenant, String topic, int bytes) {}

  /**
   * @param messages the number of topics with one
   * @param bytes the bytes of all of them
   */
  public record Listing(long messages, long bytes, List<Stored> largest, List<Stored> longestTopics) {}

  /** Declares the range in a store before its start. */
  public RetainRepair(RangeStore store) {
    range = store.range(RANGE, new RetainCodec(), new RetainRange());
  }

  /** The current rows, after the log was replayed. */
  public RangeReader rows() {
    return range.reader();
  }

  /** Reads all rows, and keeps only those to be listed. */
  public static Listing read(RangeReader rows, int most) {
    Comparator<Stored> bySize = Comparator.comparingInt(Stored::bytes);
    Comparator<Stored> byTopic = Comparator.comparingInt(stored -> stored.topic().length());
    var largest = new PriorityQueue<>(bySize);
    var longest = new PriorityQueue<>(byTopic);
    long[] totals = new long[2];
    rows.scan(
        new byte[0],
        null,
        (key, value) -> {
          totals[0]++;
          totals[1] += value.length;
          var stored = new Stored(TopicKeys.tenant(key), TopicKeys.topic(key), value.length);
          offer(largest, stored, most);
          offer(longest, stored, most);
          return true;
        });
    return new Listing(totals[0], totals[1], sorted(largest, bySize), sorted(longest, byTopic));
  }

  private static void offer(PriorityQueue<Stored> few, Stored one, int most) {
    few.add(one);
    if (few.size() > most) few.remove();
  }

  private static List<Stored> sorted(PriorityQueue<Stored> few, Comparator<Stored> order) {
    var all = new ArrayList<>(few);
    all.sort(order.reversed());
    return List.copyOf(all);
  }

  /** The message of a topic; empty when it has none. */
  public static Optional<Stored> find(RangeReader rows, String tenant, String topic) {
    byte[] row = rows.get(TopicKeys.of(tenant, topic));
    return row == null ? Optional.empty() : Optional.of(new Stored(tenant, topic, row.length));
  }

  /** Removes the message of a topic; returns whether there was one. */
  public boolean remove(String tenant, String topic) {
    var result = new CompletableFuture<RetainResult>();
    if (!range.propose(new RetainCommand.Clear(TopicKeys.of(tenant, topic)), Completion.of(result))) throw new StoreException("the queue of the range of retained messages is full");
    return result.join() instanceof RetainResult.Removed(int messages) && messages > 0;
  }
}
