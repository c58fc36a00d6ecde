package dunlin.load.remote;

import dunlin.load.count.Snapshot;
import dunlin.load.count.WallClock;
import dunlin.load.engine.WorkerState;
import dunlin.load.plan.Endpoint;
import dunlin.load.plan.Share;
import dunlin.load.remote.wire.Wire;
import dunlin.load.remote.wire.Wire.FromWorker.KindCase;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Codec;
import io.grpc.CompressorRegistry;
import io.grpc.DecompressorRegistry;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** The director's link to one worker, with its latest reports. */
final class WorkerLink {
  /*
   * Owner: the run's thread.
   * Bounds: the latest status; Conversation.
   * Failure: a lost worker stays lost, with the first reason; further messages to it are dropped.
   */
  private static final int CLOCK_ROUNDS = 30;
  private static final long ANSWER_MILLIS_MAX = 10_000;
  private static final int WHY_MAX = 2_500;

  private final Endpoint address;
  private final Share share;
  private final ManagedChannel channel;
  private final ClientCall<Wire.FromDirector, Wire.FromWorker> call;
  private final Conversation<Wire.FromWorker, Wire.FromDirector> conversation;

  private @Nullable String lost; // why
  private long heardNanos = System.nanoTime();
  private int step = -1;
  private boolean busy;
  private boolean stopped;
  private Snapshot counted = Snapshot.EMPTY;

  /** The offset of a worker's clock to the director's (positive when ahead), and its error. */
  record Offset(long micros, long errorMicros, long roundTripMicros) {}

  WorkerLink(Endpoint address, Share share, WorkerSecurity security) {
    this.address = address;
    this.share = share;
    security.check(address.host());
    try {
      channel =
          NettyChannelBuilder.forAddress(address.host(), address.port(), security.client())
              .directExecutor()
              .disableRetry()
              .maxInboundMessageSize(Protocol.MESSAGE_BYTES_MAX)
              .keepAliveTime(10, TimeUnit.SECONDS)
              .keepAliveTimeout(10, TimeUnit.SECONDS)
              .decompressorRegistry(DecompressorRegistry.emptyInstance().with(Codec.Identity.NONE, false))
              .compressorRegistry(CompressorRegistry.newEmptyInstance())
              .build();
    } catch (RuntimeException wrong) {
      throw security.unfit(wrong);
    }
    call = channel.newCall(Protocol.RUN, CallOptions.DEFAULT);
    conversation = new Conversation<>(new Conversation.Outlet<>() {
      @Override
      public boolean isReady() {
        return call.isReady();
      }

      @Override
      public void send(Wire.FromDirector message) {
        call.sendMessage(message);
      }

      @Override
      public void request(int messages) {
        call.request(messages);
      }
    });
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onMessage(Wire.FromWorker message) {
            conversation.received(message);
          }

          @Override
          public void onReady() {
            conversation.ready();
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            conversation.ended(why(status));
          }
        },
        new Metadata());
    call.request(Conversation.INBOX_MAX);
  }

  static String why(Status status) {
    String described = status.getDescription() == null ? status.getCode().name() : status.getDescription();
    String text =
        switch (status.getCode()) {
          case FAILED_PRECONDITION -> described;
          case OK -> "has ended";
          case UNIMPLEMENTED -> "is no worker of this tool";
          case UNAVAILABLE -> isTls(status.getCause())
              ? "and the director do not trust each other: " + root(status.getCause())
              : "is not reachable: " + (status.getCause() == null ? described : root(status.getCause()));
          default -> "has failed: " + described;
        };
    return text.substring(0, Math.min(text.length(), WHY_MAX));
  }

  private static boolean isTls(@Nullable Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) if (cause instanceof SSLException) return true;
    return false;
  }

  static String root(@Nullable Throwable failure) {
    Throwable root = failure;
    while (root != null && root.getCause() != null) root = root.getCause();
    return root == null ? "unknown" : root.getMessage() == null ? root.getClass().getSimpleName() : root.getMessage();
  }

  String name() {
    return "worker " + address;
  }

  Share share() {
    return share;
  }

  /** The number of the share, counted from 1. */
  String shareName() {
    return "%d of %d".formatted(share.index() + 1, share.of());
  }

  /** Why the worker is lost, or null. */
  @Nullable String lost() {
    return lost;
  }

  void lose(String why) {
    if (lost != null) return;
    lost = why;
    close();
  }

  // ---- talking

  /** Sends a message to a worker that is not lost. A failure makes it lost. */
  void send(Wire.FromDirector message) {
    if (lost != null) return;
    try {
      conversation.send(message);
    } catch (LostException gone) {
      lose(gone.why());
    }
  }

  /** The next message of one kind; handles statuses in between. */
  Wire.FromWorker next(long millis, KindCase... kinds) throws LostException {
    while (true) {
      Wire.FromWorker message = conversation.take(millis);
      if (message == null) throw new LostException("does not answer for %d s".formatted(millis / 1_000));
      for (KindCase kind : kinds) if (message.getKindCase() == kind) return message;
      if (message.getKindCase() != KindCase.STATUS) {
        throw new LostException("says %s unasked".formatted(message.getKindCase().name().toLowerCase(Locale.ROOT)));
      }
      status(message.getStatus(), null);
    }
  }

  void greet() throws LostException {
    conversation.send(Wire.FromDirector.newBuilder().setHello(Wire.Hello.newBuilder().setVersion(Protocol.VERSION)).build(), ANSWER_MILLIS_MAX);
    int version = next(ANSWER_MILLIS_MAX, KindCase.WELCOME).getWelcome().getVersion();
    if (version != Protocol.VERSION) throw new LostException("speaks version %d of the protocol, and the director version %d".formatted(version, Protocol.VERSION));
  }

  /** Compares the worker's clock with ours. The fastest of several round trips is the most exact. */
  Offset compare(WallClock clock) throws LostException {
    var best = new Offset(0, Long.MAX_VALUE, Long.MAX_VALUE);
    for (int i = 0; i < CLOCK_ROUNDS; i++) {
      long asked = clock.micros();
      conversation.send(Wire.FromDirector.newBuilder().setClock(true).build());
      long theirs = next(ANSWER_MILLIS_MAX, KindCase.TIME).getTime().getMicros();
      long answered = clock.micros();
      long roundTrip = answered - asked;
      // The worker read its clock during the round trip; both clocks show whole microseconds.
      if (roundTrip < best.roundTripMicros()) best = new Offset(theirs - (asked + roundTrip / 2), roundTrip / 2 + 2, roundTrip);
    }
    return best;
  }

  // ---- steps

  void begin(int number, long startMicros) {
    step = number;
    busy = true;
    stopped = false;
    heardNanos = System.nanoTime();
    send(Wire.FromDirector.newBuilder().setBegin(Wire.Begin.newBuilder().setStep(number).setStartMicros(startMicros)).build());
  }

  void stop() {
    stopped = false;
    send(Wire.FromDirector.newBuilder().setStop(true).build());
  }

  /** Handles the received messages. */
  void poll(Histogram deliveries, long silenceNanosMax) {
    if (lost != null) return;
    try {
      for (Wire.FromWorker message; (message = conversation.take(0)) != null; ) {
        if (message.getKindCase() != KindCase.STATUS) throw new LostException("says something else than how far it is");
        status(message.getStatus(), deliveries);
      }
      if (System.nanoTime() - heardNanos > silenceNanosMax) throw new LostException("was silent for %d s".formatted(silenceNanosMax / 1_000_000_000));
    } catch (LostException gone) {
      lose(gone.why());
    }
  }

  private void status(Wire.Status status, @Nullable Histogram deliveries) throws LostException {
    heardNanos = System.nanoTime();
    counted = WireForm.counted(status.getCountsMap(), status.getReasonsList(), status.getFailuresMap());
    if (!status.getDeliveries().isEmpty()) {
      Histogram part = WireForm.histogram(status.getDeliveries());
      if (deliveries != null) deliveries.add(part);
    }
    if (status.getStep() != step) return;
    busy = status.getBusy();
    stopped |= status.getStopped();
  }

  /** Whether the current step is still running there. */
  boolean isBusy() {
    return lost == null && busy;
  }

  boolean isStopped() {
    return lost != null || stopped;
  }

  /** The latest reported counts. */
  Snapshot counted() {
    return counted;
  }

  WorkerState state() {
    return new WorkerState(name(), shareName(), isBusy(), Optional.ofNullable(lost), counted);
  }

  /** Tells the worker that nothing more comes. It ends its run, and then the call. */
  void hangUp() {
    if (lost == null) call.halfClose();
  }

  /** Waits until the worker has ended the call, since only then can it take another run, and drops what it still says. */
  void awaitEnd(long untilNanos) {
    try {
      for (long left; lost == null && (left = untilNanos - System.nanoTime()) > 0; ) if (conversation.take(left / 1_000_000) == null) break;
    } catch (LostException _) {
      // It has ended the call, or this thread is interrupted.
    }
    close();
  }

  void close() {
    call.cancel("the director has gone", null);
    channel.shutdownNow();
  }
}
