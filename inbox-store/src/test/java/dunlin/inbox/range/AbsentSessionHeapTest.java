package dunlin.inbox.range;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.state.FilterSubscribers;
import dunlin.model.FilterIndex;
import dunlin.model.QoS;
import dunlin.model.TopicFilter;
import dunlin.store.RangeReader;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import javax.management.JMException;
import javax.management.ObjectName;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The heap that a session without a connection takes with one subscription, apart from the index of the filters. */
final class AbsentSessionHeapTest {
  private static final int SESSIONS = 100_000;
  private static final int PART = 1_000;

  /**
   * For a client identifier of 13 characters, which takes 56 of these bytes. Hash tables vary by a few bytes, depending
   * on how full they are.
   */
  private static final int BYTES_MAX = 228;

  /** The rows of many absent sessions, generated while they are read. */
  private record Absent(IntFunction<String> filterOf) implements RangeReader {
    @Override
    public byte @Nullable [] get(byte[] key) {
      return null;
    }

    @Override
    public void scan(byte[] from, byte @Nullable [] to, RowVisitor visitor) {
      for (int first = 0; first < SESSIONS; first += PART) {
        var h = new RangeHarness();
        for (int i = first; i < first + PART; i++) {
          var session = h.connect("device-%06d".formatted(i)).session();
          h.subscribe(session, filterOf.apply(i), QoS.AT_LEAST_ONCE);
          h.disconnect(session, false, 3600);
        }
        h.write();
        h.rows.scan(new byte[0], null, visitor);
      }
    }
  }

  /** Live bytes on the heap, without filler objects of the garbage collector. */
  private static long liveBytes() throws JMException {
    var beans = ManagementFactory.getPlatformMBeanServer();
    var name = new ObjectName("com.sun.management:type=DiagnosticCommand");
    var told =
        (String)
            beans.invoke(name, "gcClassHistogram", new Object[] {new String[0]}, new String[] {String[].class.getName()});
    return told.lines()
        .map(line -> line.trim().split("\\s+"))
        .filter(line -> line.length > 3 && line[0].endsWith(":") && line[1].matches("\\d+") && !line[3].contains("FillerElement"))
        .mapToLong(line -> Long.parseLong(line[2]))
        .sum();
  }

  private static double bytesOfASession(IntFunction<String> filterOf) throws JMException {
    var range = new SessionRange(RangeHarness.INTERVAL);
    long before = liveBytes();
    range.open(new Absent(filterOf));
    assertThat(range.lead()).isNotEmpty();
    long after = liveBytes();
    assertThat(range.state().sessions).hasSize(SESSIONS);
    return (after - before) / (double) SESSIONS;
  }

  @Test
  void sessionsOfOneFilter() throws JMException {
    double bytes = bytesOfASession(_ -> "a/b/c");

    System.out.printf("an absent session of a filter that all have: %.0f bytes%n", bytes);
    assertThat(bytes).isLessThan(BYTES_MAX);
  }

  @Test
  void sessionsOfAFilterEach() throws JMException {
    IntFunction<String> filterOf = "site/%1$d/state"::formatted;
    List<Object> held = new ArrayList<>();
    var index = new FilterIndex<FilterSubscribers>();
    long before = liveBytes();
    for (int i = 0; i < SESSIONS; i++) {
      var filter = TopicFilter.parse(filterOf.apply(i)).orElseThrow();
      var subscribers = new FilterSubscribers(filter);
      index.put("default", filter.filter(), subscribers);
    }
    held.add(index);
    double ofTheIndex = (liveBytes() - before) / (double) SESSIONS;

    double bytes = bytesOfASession(filterOf);

    System.out.printf("an absent session of its own filter: %.0f bytes, and %.0f of the index%n", bytes - ofTheIndex, ofTheIndex);
    assertThat(bytes - ofTheIndex).isLessThan(BYTES_MAX);
    assertThat(held).hasSize(1);
  }
}
