package dunlin.load.client;

import dunlin.load.count.Book;
import dunlin.load.count.Count;
import dunlin.load.count.LoopMeters;
import dunlin.load.count.Stamp;
import dunlin.load.plan.Pool;
import dunlin.load.plan.Subscribing;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.ScheduledFuture;
import java.net.ConnectException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** One event loop with its clients and their tasks. */
final class Loop {
  /*
   * Owner: the event loop; other threads read only `stopping`.
   * Bounds: tasks, by the step; connections to flush, one entry per connection, because an entry is made when a batch
   * begins.
   */
  /** The time between two ticks when nothing is due earlier. */
  static final long TICK_NANOS = 1_000_000;
  /** The shortest time between two ticks; all messages due in between are sent together. */
  private static final long TICK_NANOS_MIN = 100_000;
  private static final long SWEEP_NANOS = 1_000_000_000;
  /** A tick later than this shows that the tool itself is at its limit. */
  static final long LATE_NANOS = 20_000_000;

  private final EventLoop executor;
  private final RunContext context;
  private final LoopMeters meters;
  private final Dialer dialer;
  private final List<LoadClient> clients = new ArrayList<>();
  private final List<List<LoadClient>> byPool = new ArrayList<>();
  private final List<Task> tasks = new ArrayList<>();
  private final List<Connection> toFlush = new ArrayList<>();
  private final Stamp stamp = new Stamp();
  private final ByteBuf scratch = Unpooled.directBuffer(1_024);
  private final long[] lost = new long[3]; // lost by ended sessions, by QoS

  private volatile boolean stopping;
  private volatile boolean busy; // whether any task is unfinished
  private @Nullable ScheduledFuture<?> ticks;
  private long lastTickNanos;
  private double swept; // the number of clients visited in this round

  Loop(EventLoop executor, RunContext context, LoopMeters meters, Dialer dialer, int pools) {
    this.executor = executor;
    this.context = context;
    this.meters = meters;
    this.dialer = dialer;
    for (int i = 0; i < pools; i++) byPool.add(new ArrayList<>());
  }

  EventLoop executor() {
    return executor;
  }

  RunContext context() {
    return context;
  }

  LoopMeters meters() {
    return meters;
  }

  Dialer dialer() {
    return dialer;
  }

  Stamp stamp() {
    return stamp;
  }

  /** An empty buffer for one payload. */
  ByteBuf scratch() {
    return scratch.clear();
  }

  long connectTimeoutNanos() {
    return context.plan().connectTimeout().toNanos();
  }

  long ackTimeoutNanos() {
    return context.plan().ackTimeout().toNanos();
  }

  boolean isStopping() {
    return stopping;
  }

  void add(int pool, LoadClient client) {
    clients.add(client);
    byPool.get(pool).add(client);
  }

  List<LoadClient> clients() {
    return clients;
  }

  List<LoadClient> clients(int pool) {
    return byPool.get(pool);
  }

  // ---- time

  void start() {
    lastTickNanos = System.nanoTime();
    schedule(TICK_NANOS);
  }

  private void schedule(long delayNanos) {
    ticks = executor.schedule(this::tick, delayNanos, TimeUnit.NANOSECONDS);
  }

  private void tick() {
    long now = System.nanoTime();
    long since = now - lastTickNanos;
    lastTickNanos = now;
    if (since > LATE_NANOS) meters.add(Count.LATE_TICKS);
    meters.add(Count.TICKS);
    for (int i = tasks.size() - 1; i >= 0; i--) {
      if (tasks.get(i).advance(now)) tasks.remove(i).stop();
    }
    busy = !tasks.isEmpty();
    sweep(now, since);
    flush();
    long after = System.nanoTime();
    long wait = TICK_NANOS;
    for (int i = 0; i < tasks.size(); i++) wait = Math.min(wait, tasks.get(i).waitNanos(after));
    schedule(Math.max(TICK_NANOS_MIN, wait));
  }

  /** Sweeps a slice of the clients, so that each is visited once a second without long pauses. */
  private void sweep(long now, long since) {
    if (clients.isEmpty()) return;
    double until = swept + Math.min(1.0, (double) since / SWEEP_NANOS) * clients.size();
    for (int i = (int) swept; i < (int) until; i++) clients.get(i % clients.size()).sweep(now);
    swept = until % clients.size();
  }

  void toFlush(Connection connection) {
    toFlush.add(connection);
  }

  private void flush() {
    for (int i = 0; i < toFlush.size(); i++) toFlush.get(i).flush();
    toFlush.clear();
  }

  // ---- tasks

  void begin(Task task) {
    tasks.add(task);
    busy = true;
  }

  boolean isBusy() {
    return busy;
  }

  void markBusy() {
    busy = true;
  }

  void stopTasks() {
    for (Task task : tasks) task.stop();
    tasks.clear();
    busy = false;
  }

  void stop() {
    stopping = true;
    stopTasks();
  }

  void end() {
    if (ticks != null) ticks.cancel(false);
    flush();
    scratch.release();
  }

  // ---- counting

  void failure(Throwable cause) {
    context.meters().failure(reason(cause));
  }

  /** A short reason that is the same for all clients, without addresses and ports. */
  static String reason(Throwable failure) {
    Throwable cause = failure;
    if (failure instanceof SSLException) while (cause.getCause() != null) cause = cause.getCause(); // the outer exception only says "problem"
    String message = cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
    if (message.contains("Cannot assign requested address") || message.contains("Address already in use")) return "no free port for the source address";
    if (message.contains("Too many open files")) return "too many open files";
    if (message.contains("Connection reset")) return "connection reset";
    if (message.contains("Connection refused")) return "connection refused";
    if (message.contains("timed out")) return "connect timed out";
    if (cause instanceof ConnectException) return "connect failed";
    int end = message.indexOf('\n');
    String line = end < 0 ? message : message.substring(0, end);
    return line.length() > 120 ? line.substring(0, 120) : line;
  }

  /** Counts the messages lost by an ended session: those missing between its first and its last message. */
  void close(Book book, Pool pool) {
    int granted = pool.subscriptions().stream().mapToInt(Subscribing::qos).max().orElse(2);
    for (int i = 0; i < book.streams(); i++) {
      long missing = book.missingBetween(i);
      if (missing == 0) continue;
      int stream = context.number(book.key(i));
      lost[stream < 0 ? granted : Math.min(granted, context.numbers().place(stream).qos())] += missing;
    }
  }

  long[] lost() {
    return lost.clone();
  }
}
