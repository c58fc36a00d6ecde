package dunlin.load.remote;

import dunlin.load.client.Sent;
import dunlin.load.count.Bits;
import dunlin.load.count.Snapshot;
import dunlin.load.count.SplitBook;
import dunlin.load.count.WallClock;
import dunlin.load.doctor.Doctor;
import dunlin.load.doctor.Finding;
import dunlin.load.doctor.Wanted;
import dunlin.load.engine.Crew.Ending;
import dunlin.load.engine.LocalCrew;
import dunlin.load.plan.Audience;
import dunlin.load.plan.Offer;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Share;
import dunlin.load.plan.StreamNumbers;
import dunlin.load.remote.wire.Wire;
import dunlin.load.remote.wire.Wire.FromDirector.KindCase;
import dunlin.load.scenario.Scenarios;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** One run of a worker: follows the director's messages, and reports its status ten times a second. */
final class WorkerSession {
  /*
   * Owner: the thread that calls run().
   * Bounds: the record of other workers' sent messages, by SENT_BYTES_MAX; the wait for an order, by ORDER_MILLIS_MAX.
   * Failure: any error ends the run on this worker. It is reported to the director, which goes on without this worker.
   */
  private static final int LOOPS_MAX = 1_000;
  private static final long STATUS_MILLIS = 100;
  private static final long ORDER_MILLIS_MAX = 60_000;
  static final long SENT_BYTES_MAX = 1_000_000_000;

  private final Conversation<Wire.FromDirector, Wire.FromWorker> director;
  private final Path directory;
  private final List<String> sources;
  private final PrintWriter out;

  private WallClock clock = new WallClock();
  private int step = -1; // none yet
  private long lateMicros; // the largest delay of a step's start

  WorkerSession(Conversation<Wire.FromDirector, Wire.FromWorker> director, Path directory, List<String> sources, PrintWriter out) {
    this.director = director;
    this.directory = directory;
    this.sources = sources;
    this.out = out;
  }

  void run() throws LostException {
    Wire.FromDirector hello = next(KindCase.HELLO);
    if (hello.getHello().getVersion() != Protocol.VERSION) {
      throw new IllegalArgumentException(
          "speaks version %d of the protocol, and the director version %d: take the same release of the tool for both".formatted(Protocol.VERSION, hello.getHello().getVersion()));
    }
    director.send(Wire.FromWorker.newBuilder().setWelcome(Wire.Welcome.newBuilder().setVersion(Protocol.VERSION)).build());
    Wire.Order order = next(KindCase.ORDER).getOrder();
    if (order.getLoops() < 0 || order.getLoops() > LOOPS_MAX) throw new IllegalArgumentException("has at most %,d event loops".formatted(LOOPS_MAX));
    clock = clock.shifted(order.getClockCorrectionMicros());
    Plan scenario = new Scenarios.Source(order.getFile(), order.getScenario(), directory).plan(order.getVariablesMap(), List.of(), order.getLoops());
    Plan plan = sources.isEmpty() ? scenario : scenario.from(sources);
    var share = new Share(order.getShare(), order.getShares());
    var audience = new Audience(plan);
    var ready = Wire.Ready.newBuilder();
    examine(plan, audience, share, order.getForce(), ready);
    out.println("Runs share %d of %d of %s".formatted(share.index() + 1, share.of(), plan.name()));
    try (var crew = LocalCrew.share(plan, audience, share, clock, order.getRun())) {
      director.send(Wire.FromWorker.newBuilder().setReady(ready).build());
      steps(plan, crew);
      end(plan, crew);
    }
    out.println("Has ended " + plan.name());
  }

  /** The next message, which must be of one kind; answers requests for the time in between. */
  private Wire.FromDirector next(KindCase kind) throws LostException {
    while (true) {
      Wire.FromDirector message = director.take(ORDER_MILLIS_MAX);
      if (message == null) throw new IllegalStateException("heard nothing from the director for %d s".formatted(ORDER_MILLIS_MAX / 1_000));
      if (message.getKindCase() == kind) return message;
      if (message.getKindCase() != KindCase.CLOCK) throw unexpected(message);
      tellTime();
    }
  }

  private static IllegalStateException unexpected(Wire.FromDirector message) {
    return new IllegalStateException("does not expect %s of the director now".formatted(message.getKindCase().name().toLowerCase(Locale.ROOT)));
  }

  private void tellTime() throws LostException {
    director.send(Wire.FromWorker.newBuilder().setTime(Wire.Time.newBuilder().setMicros(clock.micros())).build());
  }

  private static void examine(Plan plan, Audience audience, Share share, boolean force, Wire.Ready.Builder ready) {
    Wanted wanted = Wanted.of(plan, Offer.of(plan, audience)).share(share.of());
    var stopping = new ArrayList<String>();
    for (Finding finding : Doctor.here().look(wanted)) {
      if (finding.enough()) continue;
      ready.addFindings(finding.text());
      if (finding.stops()) stopping.add("%s: %s; %s".formatted(finding.limit(), finding.sentence(), finding.remedy()));
    }
    if (!stopping.isEmpty() && !force) throw new IllegalArgumentException("is too small for its share (%s)".formatted(String.join("; ", stopping)));
  }

  // ---- steps

  private void steps(Plan plan, LocalCrew crew) throws LostException {
    long statusNanos = System.nanoTime();
    while (true) {
      Wire.FromDirector message = director.take(STATUS_MILLIS);
      if (message != null && message.getKindCase() == KindCase.END) return;
      if (message != null) handle(plan, crew, message);
      if (System.nanoTime() - statusNanos < STATUS_MILLIS * 1_000_000) continue;
      statusNanos = System.nanoTime();
      status(crew, false);
    }
  }

  private void handle(Plan plan, LocalCrew crew, Wire.FromDirector message) throws LostException {
    switch (message.getKindCase()) {
      case CLOCK -> tellTime();
      case BEGIN -> begin(plan, crew, message.getBegin());
      case STOP -> {
        crew.stopTasks();
        status(crew, true);
      }
      default -> throw unexpected(message);
    }
  }

  private void begin(Plan plan, LocalCrew crew, Wire.Begin begin) {
    if (begin.getStep() < 0 || begin.getStep() >= plan.steps().size()) throw new IllegalStateException("has no phase %d".formatted(begin.getStep()));
    step = begin.getStep();
    lateMicros = Math.max(lateMicros, clock.micros() - begin.getStartMicros());
    crew.begin(step, plan.steps().get(step), clock.nanosOf(begin.getStartMicros()));
  }

  private void status(LocalCrew crew, boolean stopped) throws LostException {
    // Reads isBusy before the counts, so that the counts of an ended step are complete.
    var status = Wire.Status.newBuilder().setStep(Math.max(step, 0)).setBusy(step < 0 || crew.isBusy()).setStopped(stopped);
    Snapshot counted = crew.counted();
    status.putAllCounts(WireForm.counts(counted)).addAllReasons(WireForm.reasons(counted)).putAllFailures(counted.failures());
    Histogram deliveries = crew.deliveries();
    if (deliveries.getTotalCount() > 0) status.setDeliveries(WireForm.histogram(deliveries));
    director.send(Wire.FromWorker.newBuilder().setStatus(status).build());
  }

  // ---- the end

  private void end(Plan plan, LocalCrew crew) throws LostException {
    var sent = new ArrayList<Sent>();
    crew.endConnections(sent::add);
    var chunk = Wire.Sent.newBuilder();
    int bytes = 0;
    for (Sent stream : sent) {
      Wire.SentStream form = WireForm.sent(stream);
      chunk.addStreams(form);
      bytes += form.getSerializedSize();
      if (bytes < Protocol.CHUNK_BYTES) continue;
      director.send(Wire.FromWorker.newBuilder().setSent(chunk).build());
      chunk = Wire.Sent.newBuilder();
      bytes = 0;
    }
    director.send(Wire.FromWorker.newBuilder().setSent(chunk).build());
    director.send(Wire.FromWorker.newBuilder().setSentAll(true).build());

    Map<Integer, Sent> elsewhere = elsewhere(new StreamNumbers(plan));
    for (var group : crew.splitGroups().entrySet()) group(crew, group.getKey(), group.getValue());
    Ending ending = crew.tally(elsewhere::get);
    var warnings = new ArrayList<>(ending.warnings());
    if (lateMicros > 0) warnings.add("A phase began %,d ms late here.".formatted(Math.ceilDiv(lateMicros, 1_000)));
    var all = new Ending(ending.snapshot(), ending.tally(), ending.cpuSeconds(), warnings, List.of(), List.of());
    director.send(Wire.FromWorker.newBuilder().setResult(WireForm.result(all)).build());
    lastQuestions();
  }

  /** The record of the messages that other workers have sent. */
  private Map<Integer, Sent> elsewhere(StreamNumbers numbers) throws LostException {
    var elsewhere = new HashMap<Integer, Sent>();
    long bytes = 0;
    while (true) {
      Wire.@Nullable FromDirector message = director.take(RemoteCrew.END_MILLIS_MAX);
      if (message == null) throw new IllegalStateException("has not heard what the others have sent");
      switch (message.getKindCase()) {
        case SENT -> {
          bytes += message.getSerializedSize();
          if (bytes > SENT_BYTES_MAX) throw new IllegalStateException("hears of more streams than it holds");
          for (Wire.SentStream stream : message.getSent().getStreamsList()) elsewhere.put(stream.getStream(), WireForm.sent(stream, numbers));
        }
        case SENT_ALL -> {
          return elsewhere;
        }
        default -> throw unexpected(message);
      }
    }
  }

  private void group(LocalCrew crew, String filter, SplitBook book) throws LostException {
    director.send(part(filter, book, 0, 0, new long[0]));
    int words = Protocol.CHUNK_BYTES / Long.BYTES;
    for (var stream : book.streams().entrySet()) {
      int number = crew.streamNumber(stream.getKey());
      if (number < 0) continue; // no such stream: the broker has sent a wrong stamp
      Bits bits = stream.getValue();
      long[] all = bits.words();
      for (int at = 0; at < all.length; at += words) {
        director.send(part(filter, book, number, bits.firstWord() + at, Arrays.copyOfRange(all, at, Math.min(at + words, all.length))));
      }
    }
  }

  private static Wire.FromWorker part(String filter, SplitBook book, int stream, long firstWord, long[] words) {
    var part = Wire.Group.newBuilder().setFilter(filter).setSince(book.since()).setStream(stream).setFirstWord(firstWord);
    for (long word : words) part.addWords(word);
    return Wire.FromWorker.newBuilder().setGroup(part).build();
  }

  /** Answers the director's last clock comparisons until it ends the call. */
  private void lastQuestions() {
    try {
      for (Wire.FromDirector message; (message = director.take(RemoteCrew.END_MILLIS_MAX)) != null && message.getKindCase() == KindCase.CLOCK; ) tellTime();
    } catch (LostException _) {
      // The director has ended the call.
    }
  }
}
