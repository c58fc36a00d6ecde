package dunlin.bench;

import dunlin.Dunlin;
import java.io.IOException;
import java.nio.file.Path;

/**
 * Two brokers in one JVM, one with default settings and one with others, for {@code build/bench/alternate}: they run the same compiled code, so what one costs more than
 * the other is the settings' cost, and not that of another start.
 *
 * <p>Arguments: a directory for their data, and settings of the second as {@code KEY=VALUE}. Prints both MQTT ports in one line, and ends when standard input does.
 */
public final class TwoBrokers {
  private TwoBrokers() {}

  public static void main(String[] args) throws IOException {
    Path data = Path.of(args[0]);
    Dunlin.Builder other = Dunlin.builder().dataDirectory(data.resolve("other")).tcpPort(0);
    for (int i = 1; i < args.length; i++) {
      int equals = args[i].indexOf('=');
      if (equals < 1) throw new IllegalArgumentException("not KEY=VALUE: " + args[i]);
      other.set(args[i].substring(0, equals), args[i].substring(equals + 1));
    }
    try (Dunlin first = Dunlin.builder().dataDirectory(data.resolve("plain")).tcpPort(0).build();
        Dunlin second = other.build()) {
      System.out.println(first.tcpPort() + " " + second.tcpPort());
      while (System.in.read() >= 0) {}
    }
  }
}
