package dunlin.load.engine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.StringTokenizer;
import org.jspecify.annotations.Nullable;

/** Reads a process's resource usage from Linux' /proc. */
public final class ProcessWatch {
  private static final int TICKS_PER_SECOND = 100; // of /proc/PID/stat, on every platform of Linux
  private static final int PAGE_BYTES = 4_096;

  private final long pid;
  private final Path directory;

  private double cpuBefore;
  private long memoryBefore;
  private long memoryHighest;

  /** @param proc where /proc is */
  public ProcessWatch(Path proc, long pid) {
    this.pid = pid;
    directory = proc.resolve(Long.toString(pid));
    if (!Files.isReadable(directory.resolve("stat"))) throw new IllegalArgumentException("there is no process %d, or it cannot be watched".formatted(pid));
  }

  void begin() {
    cpuBefore = cpuSeconds();
    memoryBefore = residentBytes();
  }

  /** Samples the memory; called regularly while the clients are connected. */
  void look() {
    memoryHighest = Math.max(memoryHighest, residentBytes());
  }

  /** The usage since the beginning, or null when the process has ended. */
  @Nullable BrokerUse end() {
    double cpu = cpuSeconds();
    return cpu < 0 ? null : new BrokerUse(pid, cpu - cpuBefore, memoryBefore, Math.max(memoryHighest, residentBytes()));
  }

  private double cpuSeconds() {
    try {
      String stat = Files.readString(directory.resolve("stat"));
      var fields = new StringTokenizer(stat.substring(stat.lastIndexOf(')') + 2));
      for (int i = 0; i < 11; i++) fields.nextToken(); // state to cmajflt
      return (double) (Long.parseLong(fields.nextToken()) + Long.parseLong(fields.nextToken())) / TICKS_PER_SECOND;
    } catch (IOException gone) {
      return -1;
    }
  }

  private long residentBytes() {
    try {
      var fields = new StringTokenizer(Files.readString(directory.resolve("statm")));
      fields.nextToken(); // size
      return Long.parseLong(fields.nextToken()) * PAGE_BYTES;
    } catch (IOException gone) {
      return 0;
    }
  }
}
