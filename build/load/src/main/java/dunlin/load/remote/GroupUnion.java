package dunlin.load.remote;

import dunlin.load.client.Sent;
import dunlin.load.client.Tally;
import dunlin.load.client.Tally.Loss;
import dunlin.load.count.Bits;
import dunlin.load.count.Count;
import dunlin.load.count.Snapshot;
import dunlin.load.plan.Audience;
import dunlin.load.plan.Audience.Receiver;
import dunlin.load.plan.StreamNumbers;
import dunlin.load.remote.wire.Wire;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Merges the received messages of shared groups with members in several workers. */
final class GroupUnion {
  /*
   * Owner: the run's thread.
   * Bounds: BYTES_MAX of bits from all workers together. Full: the worker that sends more is lost.
   */
  private static final long BYTES_MAX = 4_000_000_000L;

  private final Map<String, Group> groups = new HashMap<>();
  private final StreamNumbers numbers;
  private long bytes;

  private static final class Group {
    private final Map<Integer, Bits> streams = new HashMap<>();
    private final Map<Integer, Long> doubled = new HashMap<>();
    private int since = Integer.MAX_VALUE;
  }

  /** @param filters of the known groups */
  GroupUnion(StreamNumbers numbers, List<String> filters) {
    this.numbers = numbers;
    for (String filter : filters) groups.put(filter, new Group());
  }

  /** Adds one worker's messages of one stream. A part without bits has the step from which members are subscribed. */
  void add(Wire.Group part) throws LostException {
    Group group = groups.get(part.getFilter());
    boolean fits = group != null && part.getStream() >= 0 && part.getStream() < numbers.count() && WireForm.isSequence(part.getFirstWord()) && part.getSince() >= 0;
    if (!fits || group == null) throw new LostException("says of a shared group what cannot be");
    bytes += (long) part.getWordsCount() * Long.BYTES;
    if (bytes > BYTES_MAX) throw new LostException("sends more of shared groups than the director holds");
    group.since = Math.min(group.since, part.getSince());
    try {
      long both = group.streams.computeIfAbsent(part.getStream(), _ -> new Bits()).join(new Bits(part.getFirstWord(), WireForm.longs(part.getWordsList())));
      if (both > 0) group.doubled.merge(part.getStream(), both, Long::sum);
    } catch (IllegalArgumentException wrong) {
      throw new LostException("says of a shared group what cannot be");
    }
  }

  /**
   * Counts the groups' losses.
   *
   * @param incomplete groups with missing members, whose losses are unknown
   */
  Tally tally(Audience audience, Map<Integer, Sent> sent, Set<String> incomplete) {
    var lost = new long[3];
    var losses = new ArrayList<Loss>();
    for (Sent stream : sent.values()) {
      StreamNumbers.Place place = numbers.place(stream.stream());
      String topic = place.topic();
      audience.of(topic, number -> {
        if (!(audience.receiver(number) instanceof Receiver.Group(String filter, _, int granted)) || incomplete.contains(filter)) return;
        Group group = groups.get(filter);
        if (group == null || group.since == Integer.MAX_VALUE) return;
        long missing = missing(group.streams.get(stream.stream()), stream, group.since);
        if (missing <= 0) return;
        int qos = Math.min(place.qos(), granted);
        lost[qos] += missing;
        losses.add(new Loss(place.publisher(), topic, filter, qos, stream.messages(), missing));
      });
    }
    return new Tally(lost, losses);
  }

  private static long missing(@Nullable Bits got, Sent stream, int since) {
    long from = stream.firstOf(since);
    Bits bits = got == null ? new Bits() : got;
    from = Math.min(from, bits.lowest());
    long missing = stream.messages() - from - bits.countFrom(from);
    for (long number : stream.exempt()) if (number >= from && !bits.has(number)) missing--;
    return missing;
  }

  /** Adds duplicates between different workers: each of them counted its message as the first. */
  Snapshot withDoubled(Snapshot snapshot, Audience audience) {
    Snapshot all = snapshot;
    for (var entry : groups.entrySet()) {
      for (var doubled : entry.getValue().doubled.entrySet()) {
        int qos = Math.min(numbers.place(doubled.getKey()).qos(), audience.qosOfGroup(entry.getKey()));
        all = all.plus(Count.duplicated(qos), doubled.getValue());
      }
    }
    return all;
  }
}
