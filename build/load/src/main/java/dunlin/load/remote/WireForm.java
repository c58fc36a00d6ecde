package dunlin.load.remote;

import com.google.protobuf.ByteString;
import dunlin.load.client.Sent;
import dunlin.load.client.Tally;
import dunlin.load.count.Codes;
import dunlin.load.count.Count;
import dunlin.load.count.Meters;
import dunlin.load.count.Series;
import dunlin.load.count.Snapshot;
import dunlin.load.engine.Crew.Ending;
import dunlin.load.plan.Plan;
import dunlin.load.plan.StreamNumbers;
import dunlin.load.remote.wire.Wire;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;

/** Converts measurements to messages and back. Checks the bounds of a peer's messages; a LostException has the error. */
final class WireForm {
  /* A histogram's own header: cookie, length, offset, digits, lowest, highest, ratio. */
  private static final int HISTOGRAM_HEADER_BYTES = 40;
  private static final int DIGITS_AT = 12;
  private static final int LOWEST_AT = 16;
  private static final int HIGHEST_AT = 24;
  private static final int EXEMPT_MAX = 100_000;
  private static final int NAMES_MAX = 2_000;
  private static final int WARNINGS_MAX = 100;
  private static final long SEQUENCE_MAX = 1L << 40;

  private WireForm() {}

  // ---- counts and times

  static ByteString histogram(Histogram histogram) {
    ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
    int length = histogram.encodeIntoByteBuffer(buffer);
    return ByteString.copyFrom(buffer.array(), 0, length);
  }

  static Histogram histogram(ByteString bytes) throws LostException {
    Histogram ours = Meters.newHistogram();
    ByteBuffer buffer = bytes.asReadOnlyByteBuffer();
    // The size of a histogram follows from its header, so the header must be the expected one.
    boolean sized =
        bytes.size() > HISTOGRAM_HEADER_BYTES
            && buffer.getInt(DIGITS_AT) == ours.getNumberOfSignificantValueDigits()
            && buffer.getLong(LOWEST_AT) == ours.getLowestDiscernibleValue()
            && buffer.getLong(HIGHEST_AT) == ours.getHighestTrackableValue();
    if (!sized) throw new LostException("sends a histogram of another kind");
    try {
      return Histogram.decodeFromByteBuffer(ByteBuffer.wrap(bytes.toByteArray()), 0);
    } catch (RuntimeException wrong) {
      throw new LostException("sends a histogram that cannot be read");
    }
  }

  static Map<String, Long> counts(Snapshot snapshot) {
    var byName = new HashMap<String, Long>();
    for (Count count : Count.values()) byName.put(count.name(), snapshot.get(count));
    return byName;
  }

  static List<Wire.Reason> reasons(Snapshot snapshot) {
    var reasons = new ArrayList<Wire.Reason>();
    for (Codes kind : Codes.values()) {
      snapshot.reasons(kind).forEach((name, number) -> reasons.add(Wire.Reason.newBuilder().setKind(kind.name()).setName(name).setNumber(number).build()));
    }
    return reasons;
  }

  /** Counts and reasons, without times. */
  static Snapshot counted(Map<String, Long> counts, List<Wire.Reason> reasons, Map<String, Long> failures) throws LostException {
    if (reasons.size() > NAMES_MAX || failures.size() > NAMES_MAX) throw new LostException("sends too many reasons");
    var codes = new EnumMap<Codes, Map<String, Long>>(Codes.class);
    for (Wire.Reason reason : reasons) {
      codes.computeIfAbsent(named(Codes.class, reason.getKind()), _ -> new TreeMap<>()).merge(reason.getName(), reason.getNumber(), Long::sum);
    }
    return new Snapshot(counts(counts), codes, Map.copyOf(failures), Map.of());
  }

  private static Map<Count, Long> counts(Map<String, Long> byName) throws LostException {
    var counts = new EnumMap<Count, Long>(Count.class);
    for (var entry : byName.entrySet()) {
      if (entry.getValue() < 0) throw new LostException("sends a count below 0");
      counts.put(named(Count.class, entry.getKey()), entry.getValue());
    }
    return counts;
  }

  private static <E extends Enum<E>> E named(Class<E> type, String name) throws LostException {
    try {
      return Enum.valueOf(type, name);
    } catch (IllegalArgumentException unknown) {
      throw new LostException("sends the unknown name " + name.substring(0, Math.min(name.length(), 40)));
    }
  }

  // ---- what was sent

  static Wire.SentStream sent(Sent sent) {
    var stream = Wire.SentStream.newBuilder().setStream(sent.stream()).setMessages(sent.messages());
    for (long mark : sent.marks()) stream.addMarks(mark);
    for (long number : sent.exempt()) stream.addExempt(number);
    return stream.build();
  }

  static Sent sent(Wire.SentStream stream, StreamNumbers numbers) throws LostException {
    boolean fits =
        stream.getStream() >= 0
            && stream.getStream() < numbers.count()
            && isSequence(stream.getMessages())
            && stream.getMarksCount() % 2 == 0
            && stream.getMarksCount() <= 2 * Plan.STEPS_MAX
            && stream.getExemptCount() <= EXEMPT_MAX
            && stream.getMarksList().stream().allMatch(WireForm::isSequence)
            && stream.getExemptList().stream().allMatch(WireForm::isSequence);
    if (!fits) throw new LostException("says of a stream what cannot be");
    return new Sent(stream.getStream(), stream.getMessages(), longs(stream.getMarksList()), longs(stream.getExemptList()));
  }

  static boolean isSequence(long number) {
    return number >= 0 && number <= SEQUENCE_MAX;
  }

  static long[] longs(List<Long> list) {
    return list.stream().mapToLong(Long::longValue).toArray();
  }

  // ---- the end

  static Wire.Result result(Ending ending) {
    var result = Wire.Result.newBuilder().setCpuSeconds(ending.cpuSeconds()).addAllWarnings(ending.warnings());
    Snapshot snapshot = ending.snapshot();
    result.putAllCounts(counts(snapshot)).addAllReasons(reasons(snapshot)).putAllFailures(snapshot.failures());
    for (Series series : Series.values()) {
      Histogram histogram = snapshot.time(series);
      if (histogram.getTotalCount() > 0) result.putTimes(series.name(), histogram(histogram));
    }
    for (long lost : ending.tally().lost()) result.addLost(lost);
    for (Tally.Loss loss : ending.tally().losses()) {
      result.addLosses(
          Wire.Loss.newBuilder()
              .setPublisher(loss.publisher()).setTopic(loss.topic()).setReceiver(loss.receiver()).setQos(loss.qos()).setSent(loss.sent()).setLost(loss.lost()));
    }
    return result.build();
  }

  static Ending ending(Wire.Result result) throws LostException {
    boolean bounded =
        result.getLostCount() == 3
            && result.getLossesCount() <= Tally.LOSSES_MAX
            && result.getWarningsCount() <= WARNINGS_MAX;
    if (!bounded) throw new LostException("sends a result that cannot be");
    Snapshot counted = counted(result.getCountsMap(), result.getReasonsList(), result.getFailuresMap());
    var times = new EnumMap<Series, Histogram>(Series.class);
    for (var entry : result.getTimesMap().entrySet()) times.put(named(Series.class, entry.getKey()), histogram(entry.getValue()));
    var losses = new ArrayList<Tally.Loss>();
    for (Wire.Loss loss : result.getLossesList()) {
      losses.add(new Tally.Loss(loss.getPublisher(), loss.getTopic(), loss.getReceiver(), loss.getQos(), loss.getSent(), loss.getLost()));
    }
    var snapshot = new Snapshot(counted.counts(), counted.codes(), counted.failures(), times);
    return new Ending(snapshot, new Tally(longs(result.getLostList()), losses), result.getCpuSeconds(), List.copyOf(result.getWarningsList()), List.of(), List.of());
  }
}
