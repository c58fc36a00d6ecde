package dunlin;

import dunlin.node.NodeSettings;
import dunlin.node.Node;
import dunlin.broker.listen.ListenerException;
import dunlin.runtime.SettingException;
import dunlin.runtime.Settings;
import dunlin.runtime.metrics.Metrics;
import dunlin.store.StoreException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The broker as a process: settings from {@code -Ddunlin.*}, the environment and a file; runs until SIGTERM. */
final class Main {
  /*
   * Exit codes: 143 stopped by SIGTERM, as for any JVM; 1 could not start, one sentence on standard error says why; 2 a
   * store failed while the node ran: it must not continue with a dead log.
   */
  private static final Logger log = LoggerFactory.getLogger(Main.class);
  private static final int CANNOT_START = 1;
  private static final int STORE_FAILED = 2;

  private Main() {}

  public static void main(String[] args) {
    Metrics.warmUp();
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    PrintStream err = new PrintStream(System.err, true, StandardCharsets.UTF_8);
    if (args.length > 0) {
      err.println("dunlin: unknown argument " + args[0] + "; settings are given as -Dkey=value");
      System.exit(CANNOT_START);
    }
    AtomicReference<@Nullable Node> started = new AtomicReference<>();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(started.get()), "dunlin-stop"));
    try {
      Settings settings = Settings.ofProcess(NodeSettings.ALL);
      for (String key : settings.secretsInArguments()) {
        log.warn("{} is a secret in the arguments of this process, where other users of the machine can read it: give it as file:PATH or env:NAME", key);
      }
      started.set(Node.startProcess(settings, failure -> storeFailed(failure, err)));
    } catch (SettingException | StoreException | ListenerException e) {
      err.println("dunlin: " + e.getMessage());
      Runtime.getRuntime().halt(CANNOT_START);
    } catch (RuntimeException | Error e) { // a bug: the stack trace is needed, and no thread may keep the process alive
      log.error("the node did not start", e);
      err.println("dunlin: cannot start: " + e);
      Runtime.getRuntime().halt(CANNOT_START);
    }
    long sinceStart = System.currentTimeMillis() - ManagementFactory.getRuntimeMXBean().getStartTime();
    out.println("Started Dunlin in " + sinceStart + " ms");
    while (true) LockSupport.park(Main.class); // a store node has no other non-daemon thread
  }

  private static void stop(@Nullable Node node) {
    if (node == null) return;
    try {
      node.drain();
    } finally {
      node.close();
    }
  }

  /** Halts without an orderly stop: what is not durable must not be acknowledged any more. */
  private static void storeFailed(RuntimeException failure, PrintStream err) {
    err.println("dunlin: stopping, " + failure.getMessage());
    Runtime.getRuntime().halt(STORE_FAILED);
  }
}
