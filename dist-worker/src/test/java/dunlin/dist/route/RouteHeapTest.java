package dunlin.dist.route;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.store.RangeReader;
import java.lang.management.ManagementFactory;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import javax.management.JMException;
import javax.management.ObjectName;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The heap used by a route, compared with {@link RouteRange#memoryOf}. */
public class RouteHeapTest {
  private static final int ROUTES = 100_000;

  private record Rows(IntFunction<String> filterOf) implements RangeReader {
    @Override
    public byte @Nullable [] get(byte[] key) {
      return null;
    }

    @Override
    public void scan(byte[] from, byte @Nullable [] to, RowVisitor visitor) {
      for (int i = 0; i < ROUTES; i++) {
        var route = route(i);
        if (!visitor.row(RouteRows.key(route), RouteRows.value(route))) return;
      }
    }

    private Route route(int i) {
      return new Route("tenant", TopicFilter.parse(filterOf.apply(i)).orElseThrow(), ShardId.frontend("node"), 1, i);
    }
  }

  /** The live bytes on the heap, without gaps. */
  private static long liveBytes() throws JMException {
    var name = new ObjectName("com.sun.management:type=DiagnosticCommand");
    var histogram =
        (String)
            ManagementFactory.getPlatformMBeanServer()
                .invoke(name, "gcClassHistogram", new Object[] {new String[0]}, new String[] {String[].class.getName()});
    return histogram.lines()
        .map(line -> line.trim().split("\\s+"))
        .filter(line -> line.length > 3 && line[0].endsWith(":") && line[1].matches("\\d+") && !line[3].contains("FillerElement"))
        .mapToLong(line -> Long.parseLong(line[2]))
        .sum();
  }

  private static void assertTakesNoMoreThanItSays(IntFunction<String> filterOf) throws JMException {
    var rows = new Rows(filterOf);
    var range = new RouteRange();
    long before = liveBytes();
    range.open(rows);
    long bytes = liveBytes() - before;

    assertThat(range.size()).isEqualTo(ROUTES);
    assertThat(range.memory()).isEqualTo(IntStream.range(0, ROUTES).mapToLong(i -> RouteRange.memoryOf(rows.route(i))).sum());
    assertThat(bytes).as("%d routes as %s", ROUTES, filterOf.apply(1)).isLessThanOrEqualTo(range.memory());
  }

  @Test
  void aRouteWithItsOwnFilter() throws JMException {
    assertTakesNoMoreThanItSays("fleet/%06d/telemetry/#"::formatted);
  }

  @Test
  void aRouteWithALongFilter() throws JMException {
    var level = "x".repeat(180);
    assertTakesNoMoreThanItSays(i -> "fleet/%s%06d/+".formatted(level, i));
  }

  @Test
  void aRouteOfAGroup() throws JMException {
    assertTakesNoMoreThanItSays("$share/group%06d/fleet/%<06d"::formatted);
  }
}
