package dunlin.runtime.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LatencyHistogramTest {
  private final LatencyHistogram histogram = new LatencyHistogram("dunlin.test.wait", "From here to there");

  @Test
  void countsOfAllThreadsAreInOneHistogram() {
    var one = histogram.local();
    var two = histogram.local();

    one.add(0);
    one.add(1);
    two.add(2);
    two.add(60_000);
    two.add(60_001);
    two.add(-5);

    assertThat(histogram.getCount()).isEqualTo(6);
    assertThat(histogram.sumMillis()).isEqualTo(120_004);
    assertThat(histogram.getMeanMillis()).isEqualTo(120_004 / 6.0);
    assertThat(histogram.getAtMostMillis()).containsEntry(1L, 3L).containsEntry(2L, 4L).containsEntry(10_000L, 4L).containsEntry(60_000L, 5L);
  }

  @Test
  void prometheusShowsSeconds() {
    try (Metrics metrics = Metrics.open("one")) {
      metrics.show(histogram);
      histogram.local().add(2);

      assertThat(metrics.scrape())
          .contains(
              "# HELP dunlin_test_wait_seconds From here to there\n",
              "# TYPE dunlin_test_wait_seconds histogram\n",
              "dunlin_test_wait_seconds_bucket{node=\"one\",le=\"0.001\"} 0\n",
              "dunlin_test_wait_seconds_bucket{node=\"one\",le=\"0.002\"} 1\n",
              "dunlin_test_wait_seconds_bucket{node=\"one\",le=\"+Inf\"} 1\n",
              "dunlin_test_wait_seconds_count{node=\"one\"} 1\n",
              "dunlin_test_wait_seconds_sum{node=\"one\"} 0.002\n");
    }
  }
}
