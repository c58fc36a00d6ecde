package dunlin.load.doctor;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads limits of Linux from /proc. A missing file means that there is no such limit. */
final class Kernel {
  private static final Pattern OPEN_FILES = Pattern.compile("(?m)^Max open files\\s+(\\S+)\\s+(\\S+)");
  private static final Pattern AVAILABLE = Pattern.compile("(?m)^MemAvailable:\\s+([0-9]+) kB");
  private static final Pattern RANGE = Pattern.compile("([0-9]+)\\s+([0-9]+)");

  private static final int FILE_BYTES_MAX = 16_384;

  private final Path proc;

  Kernel(Path proc) {
    this.proc = proc;
  }

  private Optional<String> read(String file) {
    // Uses a single read, because a file of /proc/sys answers only the first one, and Files.readString begins with a
    // single byte.
    byte[] bytes = new byte[FILE_BYTES_MAX];
    try (InputStream in = Files.newInputStream(proc.resolve(file))) {
      return Optional.of(new String(bytes, 0, in.readNBytes(bytes, 0, bytes.length), StandardCharsets.US_ASCII).strip());
    } catch (IOException missing) {
      return Optional.empty();
    }
  }

  private OptionalLong number(String file) {
    return read(file).filter(text -> text.matches("[0-9]{1,18}")).map(text -> OptionalLong.of(Long.parseLong(text))).orElse(OptionalLong.empty());
  }

  /** This process's limits of open files. */
  Optional<OpenFiles> openFiles() {
    return read("self/limits").flatMap(text -> {
      Matcher matcher = OPEN_FILES.matcher(text);
      return matcher.find() ? Optional.of(new OpenFiles(limit(matcher.group(1)), limit(matcher.group(2)))) : Optional.empty();
    });
  }

  /** The soft limit, and the hard limit up to which a process can raise it without root. */
  record OpenFiles(long soft, long hard) {}

  private static long limit(String text) {
    return text.equals("unlimited") ? Long.MAX_VALUE : Long.parseLong(text);
  }

  OptionalLong filesOfSystem() {
    return number("sys/fs/file-max");
  }

  /** The number of ports that one source address has for one endpoint. */
  OptionalLong ports() {
    return read("sys/net/ipv4/ip_local_port_range")
        .map(text -> {
          Matcher matcher = RANGE.matcher(text);
          return matcher.matches() ? OptionalLong.of(Long.parseLong(matcher.group(2)) - Long.parseLong(matcher.group(1)) + 1) : OptionalLong.empty();
        })
        .orElse(OptionalLong.empty());
  }

  OptionalLong listenBacklog() {
    return number("sys/net/core/somaxconn");
  }

  /** The size of the connection tracking table; empty when the kernel tracks no connections. */
  OptionalLong trackedConnections() {
    return number("sys/net/netfilter/nf_conntrack_max");
  }

  OptionalLong availableBytes() {
    return read("meminfo").map(text -> {
      Matcher matcher = AVAILABLE.matcher(text);
      return matcher.find() ? OptionalLong.of(Long.parseLong(matcher.group(1)) * 1_024) : OptionalLong.empty();
    }).orElse(OptionalLong.empty());
  }
}
