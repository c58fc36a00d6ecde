package dunlin.bench.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.HdrHistogram.Histogram;

/** Measures the disk directly: repeated appends of a block, each forced to disk, and copies of whole files. */
final class FsyncProbe {
  private static final int AHEAD_BYTES = 1024 * 1024;
  private static final int COPY_BYTES = 256 * 1024;
  private static final long FILE_BYTES_MAX = 8L * 1024 * 1024;

  private FsyncProbe() {}

  /**
   * @param ahead whether zeros are written ahead of the blocks, as Ratis does in its log; fdatasync then need not write
   *     the file's size
   */
  static Map<String, Object> append(Path directory, int blockBytes, boolean ahead, Duration time) throws IOException {
    var block = ByteBuffer.allocateDirect(blockBytes);
    byte[] random = new byte[blockBytes];
    new SplittableRandom(1).nextBytes(random);
    block.put(random).flip();
    var zeros = ByteBuffer.allocateDirect(AHEAD_BYTES);
    var nanos = new Histogram(3);
    Path file = Files.createTempFile(directory, "probe", ".log");
    long begun = System.nanoTime();
    long end = begun + time.toNanos();
    try (var out = FileChannel.open(file, StandardOpenOption.WRITE)) {
      long at = 0;
      long filled = 0;
      while (System.nanoTime() - end < 0) {
        long before = System.nanoTime();
        if (at >= FILE_BYTES_MAX) { // the log begins a new segment likewise
          out.truncate(0);
          at = 0;
          filled = 0;
        }
        for (; ahead && at + blockBytes > filled; filled += AHEAD_BYTES) out.write(zeros.clear(), filled);
        for (block.rewind(); block.hasRemaining(); ) at += out.write(block, at);
        out.force(false);
        nanos.recordValue(System.nanoTime() - before);
      }
    } finally {
      Files.delete(file);
    }
    var result = new LinkedHashMap<String, Object>();
    result.put("block_bytes", blockBytes);
    result.put("fsyncs_per_second", nanos.getTotalCount() * 1e9 / (System.nanoTime() - begun));
    result.put("mean_us", nanos.getMean() / 1e3);
    result.put("p50_us", nanos.getValueAtPercentile(50) / 1e3);
    result.put("p99_us", nanos.getValueAtPercentile(99) / 1e3);
    return result;
  }

  /** Copies the files of a directory, forces each to disk at its end, and returns the bytes per second. */
  static Map<String, Object> copy(Path from, Path to) throws IOException {
    Files.createDirectories(to);
    var buffer = ByteBuffer.allocateDirect(COPY_BYTES);
    long bytes = 0;
    long begun = System.nanoTime();
    try (var files = Files.newDirectoryStream(from, Files::isRegularFile)) {
      for (Path file : files) {
        try (var in = FileChannel.open(file);
            var out =
                FileChannel.open(to.resolve(from.relativize(file)), StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW)) {
          while (in.read(buffer.clear()) >= 0) for (buffer.flip(); buffer.hasRemaining(); ) bytes += out.write(buffer);
          out.force(true);
        }
      }
    }
    double seconds = (System.nanoTime() - begun) / 1e9;
    return Map.of("bytes", bytes, "seconds", seconds, "bytes_per_second", bytes / seconds);
  }
}
