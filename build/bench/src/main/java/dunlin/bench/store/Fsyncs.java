package dunlin.bench.store;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingStream;
import org.HdrHistogram.Histogram;

/** Counts and times the fsyncs of one node's Raft log by JFR events. */
final class Fsyncs implements AutoCloseable {
  /*
   * Owner: the measuring thread; the stream's thread counts.
   */
  private final String directory;
  private final RecordingStream stream = new RecordingStream();
  private final Histogram nanos = new Histogram(3); // owned by the stream's thread until the stream has stopped

  Fsyncs(Path directory) {
    this.directory = directory + "/";
    stream.setReuse(true);
    stream.enable("jdk.FileForce").withThreshold(Duration.ZERO).withoutStackTrace();
    stream.onEvent("jdk.FileForce", this::forced);
    stream.startAsync();
  }

  private void forced(RecordedEvent event) {
    String path = event.getString("path");
    if (path != null && path.startsWith(directory) && path.contains("log_inprogress")) nanos.recordValue(event.getDuration().toNanos());
  }

  /** Stops counting. */
  Map<String, Object> stop() {
    stream.stop();
    return Map.of(
        "fsyncs", nanos.getTotalCount(), "fsync_mean_us", nanos.getMean() / 1e3, "fsync_p50_us", nanos.getValueAtPercentile(50) / 1e3);
  }

  @Override
  public void close() {
    stream.close();
  }
}
