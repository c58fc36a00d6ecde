package dunlin.bench.store;

import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** The memory and the threads of this process. */
final class Usage {
  private static final int KIB = 1024;

  private Usage() {}

  /** Reads them after a garbage collection, so that the heap holds only reachable objects. */
  static Map<String, Object> now() throws IOException {
    System.gc();
    var usage = new LinkedHashMap<String, Object>();
    usage.put("heap_bytes", ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
    for (var pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class))
      if (pool.getName().equals("direct")) usage.put("direct_bytes", pool.getMemoryUsed());
    usage.put("threads", ManagementFactory.getThreadMXBean().getThreadCount());
    usage.put("rss_bytes", rssBytes());
    return usage;
  }

  private static long rssBytes() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status")))
      if (line.startsWith("VmRSS:")) return Long.parseLong(line.replaceAll("[^0-9]", "")) * KIB;
    throw new IOException("no VmRSS in /proc/self/status");
  }
}
