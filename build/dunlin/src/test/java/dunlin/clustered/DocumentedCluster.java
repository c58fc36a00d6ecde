package dunlin.clustered;

import dunlin.harness.BrokerProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * Brokers on this machine that are started by the commands of a document, as they stand there. If the ports there are in use, or another test has them for brokers
 * that it has yet to launch, all of them are replaced by others.
 */
final class DocumentedCluster implements AutoCloseable {
  private static final int MQTT = 1_883;
  private static final int SERVICE = 7_100;

  /** So that none of the ports is one that {@link dunlin.harness.FreePort} gives to other tests. */
  private static final int SHIFT_MAX = 2_800;

  /** The ports of MQTT and of calls, which are spaced so that each broker has the next one for Raft. */
  private static final Pattern PORT = Pattern.compile("(?<=[=:])(188[3-7]|71[0-4]0)\\b");

  private final Path directory;
  private final List<String> commands;
  private final Ports ports;
  private final List<BrokerProcess> brokers = new CopyOnWriteArrayList<>();

  /**
   * What is added to the ports so that all are free: 0 where nothing else uses them.
   *
   * @param claim a lock on a file, which keeps tests of other processes from these ports until it is closed
   */
  private record Ports(int shift, FileChannel claim) {}

  private DocumentedCluster(Path directory, List<String> commands, Ports ports) {
    this.directory = directory;
    this.commands = commands;
    this.ports = ports;
  }

  /**
   * @param heading of the section that has the commands
   * @param script how the commands call {@code bin/dunlin}
   * @param directory in which the commands are run
   */
  static DocumentedCluster of(Path document, String heading, String script, Path directory) {
    try {
      Path link = directory.resolve(script);
      Files.createDirectories(directory.resolve(script.substring(0, script.lastIndexOf('/'))));
      Files.createSymbolicLink(link, Path.of(System.getProperty("dist.directory"), "bin/dunlin").toAbsolutePath());
      String text = Files.readString(document);
      String section = text.substring(text.indexOf("\n" + heading + "\n") + 1);
      int end = section.indexOf("\n#");
      var commands = section.substring(0, end < 0 ? section.length() : end).lines().filter(line -> line.startsWith("    " + script)).map(String::strip).toList();
      return new DocumentedCluster(directory, commands, claim(commands.size()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Ports claim(int brokers) throws IOException {
    for (int shift = 0; shift < SHIFT_MAX; shift += 50) {
      var file = FileChannel.open(Path.of(System.getProperty("java.io.tmpdir"), "dunlin-documented-ports-" + shift), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      if (file.tryLock() != null && areFree(shift, brokers)) return new Ports(shift, file);
      file.close();
    }
    throw new IllegalStateException("no ports are free");
  }

  private static boolean areFree(int shift, int brokers) {
    return IntStream.range(0, brokers).allMatch(i -> isFree(MQTT + shift + i) && isFree(SERVICE + shift + 10 * i) && isFree(SERVICE + 1 + shift + 10 * i));
  }

  private static boolean isFree(int port) {
    try (var _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  int size() {
    return commands.size();
  }

  /** The port for clients that the document gives to a broker, or the one in its place. */
  int port(int broker) {
    return MQTT + ports.shift + broker;
  }

  /** Those that have been launched. */
  List<BrokerProcess> brokers() {
    return brokers;
  }

  /** Launches the next broker, without waiting for its start. */
  BrokerProcess launch(String... more) {
    var command = new ArrayList<>(List.of(shifted(commands.get(brokers.size()))));
    for (String setting : more) command.add("-D" + setting);
    brokers.add(BrokerProcess.ofCommand(directory, String.join(" ", command)));
    return brokers.getLast();
  }

  private String shifted(String command) {
    int shift = ports.shift;
    if (shift == 0) return command;
    String moved = PORT.matcher(command).replaceAll((MatchResult port) -> String.valueOf(Integer.parseInt(port.group()) + shift));
    if (!command.contains("tcp.port=")) moved += " -Ddunlin.listeners.tcp.port=" + (MQTT + shift);
    return command.contains("service-port=") ? moved : moved + " -Ddunlin.cluster.service-port=" + (SERVICE + shift);
  }

  @Override
  public void close() {
    brokers.forEach(BrokerProcess::close);
    try {
      ports.claim.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
