package dunlin.chaos;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/** The network between harness and nodes: a network namespace for each node, and links that can be cut and slowed; src/main/c/links.c. */
public final class Links implements AutoCloseable {
  /*
   * Owner: the thread of the trials; one request at a time.
   * Failure: namespaces and devices end with the process, and that ends with the harness.
   */
  private static final int HARNESS = 0;

  /** What becomes of the packets of a link. */
  private record Fate(int millis, int jitterMillis, int lostOfThousand, boolean cut) {}

  private static final Fate CUT = new Fate(0, 0, 0, true);

  private final int nodes;
  private final Process process;
  private final Writer requests;
  private final BufferedReader answers;
  private final String[] ready;

  Links(Path program, int nodes) {
    this.nodes = nodes;
    try {
      process =
          new ProcessBuilder(program.toString(), String.valueOf(nodes)).redirectError(ProcessBuilder.Redirect.INHERIT).start();
      requests = new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8);
      answers = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
      String first = answers.readLine();
      if (first == null || !first.startsWith("ready ")) throw new TrialException("no network: " + first);
      ready = first.split(" ", -1);
    } catch (IOException e) {
      throw new TrialException("no network", e);
    }
  }

  static String address(int port) {
    return "10.89.0." + (port + 1);
  }

  /** The prefix of a command that runs it in the network namespace of a port. */
  List<String> prefix(int port) {
    return List.of("nsenter", "--net=/proc/" + process.pid() + "/fd/" + ready[port]);
  }

  /** Cuts a port off from all others, including the harness. */
  public void isolate(int port) {
    for (int other = HARNESS; other <= nodes; other++) if (other != port) cut(port, other);
  }

  /** Cuts a port off from the other nodes; callers still reach it. */
  public void isolateFromNodes(int port) {
    for (int other = HARNESS + 1; other <= nodes; other++) if (other != port) cut(port, other);
  }

  /** The port still sends to the other nodes, but receives nothing from them. */
  public void deafen(int port) {
    for (int other = HARNESS + 1; other <= nodes; other++) if (other != port) link(other, port, CUT);
  }

  /** Cuts two ports off from each other. */
  public void cut(int port, int other) {
    link(port, other, CUT);
    link(other, port, CUT);
  }

  /** Delays all packets on all links. */
  public void slow(int millis) {
    all(new Fate(millis, 0, 0, false));
  }

  /** The same with delays that differ by up to so much from packet to packet, and some packets in a thousand lost. */
  public void poor(int millis, int jitterMillis, int lostOfThousand) {
    all(new Fate(millis, jitterMillis, lostOfThousand, false));
  }

  private void all(Fate fate) {
    for (int from = HARNESS; from <= nodes; from++)
      for (int to = HARNESS; to <= nodes; to++) if (from != to) link(from, to, fate);
  }

  /** Delays all packets between nodes; callers are as near as before. */
  public void slowNodes(int millis) {
    for (int from = HARNESS + 1; from <= nodes; from++)
      for (int to = HARNESS + 1; to <= nodes; to++) if (from != to) link(from, to, new Fate(millis, 0, 0, false));
  }

  public void heal() {
    slow(0);
  }

  private void link(int from, int to, Fate fate) {
    ask("link %d %d %d %d %d %d".formatted(from, to, fate.millis, fate.jitterMillis, fate.lostOfThousand, fate.cut ? 1 : 0));
  }

  /** The number of packets lost on links so far: a partition without losses has tested nothing. */
  public long lost() {
    return Long.parseLong(ask("lost"));
  }

  private String ask(String request) {
    try {
      requests.write(request + "\n");
      requests.flush();
      String answer = answers.readLine();
      if (answer == null || !answer.startsWith("ok")) throw new TrialException("links: '" + request + "': " + answer);
      return answer.substring(2).trim();
    } catch (IOException e) {
      throw new TrialException("links: '" + request + "'", e);
    }
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
