package dunlin.load.page;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dunlin.load.engine.Point;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The rows of a long run are bounded in number, and add up. */
class TimelineTest {
  private static Point point(int second, double rate, long time) {
    return new Point(second, second, rate, rate, rate, rate, time, time, time, time);
  }

  @Test
  void aShortRunIsKeptSecondBySecond() {
    var timeline = new Timeline();
    for (int second = 1; second <= Timeline.SECONDS_MAX; second++) timeline.add(point(second, second, second));

    assertThat(timeline.after(0)).hasSize(Timeline.SECONDS_MAX).allMatch(row -> row.seconds() == 1);
    assertThat(timeline.after(598)).extracting(Timeline.Row::number).containsExactly(599L, 600L);
    assertThat(timeline.after(timeline.last())).isEmpty();
  }

  @Test
  void aRowOfSeveralSecondsHasTheirAverageRateAndLongestTime() {
    var timeline = new Timeline();
    for (int second = 1; second <= Timeline.SECONDS_MAX + 5; second++) timeline.add(point(second, second, second == 2 ? 9_000 : -1));

    Timeline.Row row = timeline.after(0).getFirst();

    assertThat(row).isEqualTo(new Timeline.Row(5, 5, new Point(5, 5, 3, 3, 3, 3, 9_000, 9_000, 9_000, 9_000)));
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void aRunOfAnyLengthIsBoundedAndAddsUp(long seed) {
    System.out.println("seed " + seed);
    var random = new Random(seed);
    int length = random.nextInt(20_000, 60_000);
    var timeline = new Timeline();
    double sent = 0;
    long longest = 0;
    for (int second = 1; second <= length; second++) {
      double rate = random.nextInt(1_000);
      long time = random.nextInt(100_000);
      sent += rate;
      longest = Math.max(longest, time);
      timeline.add(point(second, rate, time));
    }

    List<Timeline.Row> rows = timeline.after(0);

    assertThat(rows).hasSizeLessThanOrEqualTo(Timeline.SECONDS_MAX + Timeline.TOGETHER_MAX);
    assertThat(rows).extracting(Timeline.Row::number).isSorted().doesNotHaveDuplicates();
    assertThat(rows.stream().mapToInt(Timeline.Row::seconds).sum()).isEqualTo(length);
    assertThat(rows.stream().mapToDouble(row -> row.point().published() * row.seconds()).sum()).isCloseTo(sent, within(1.0));
    assertThat(rows.stream().mapToLong(row -> row.point().max()).max()).hasValue(longest);
    long somewhere = random.nextInt(length);
    assertThat(timeline.after(somewhere)).isEqualTo(rows.stream().filter(row -> row.number() > somewhere).toList());
  }
}
