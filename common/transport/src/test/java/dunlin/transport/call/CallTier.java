package dunlin.transport.call;

import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.lane.Wires;
import dunlin.transport.link.Link;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A caller and a tier of the test's, with wires between them. A call is a number and some bytes. */
final class CallTier {
  static final CallProtocol PROTOCOL = protocol("test 1");

  static final class NotMadeException extends RuntimeException {
    NotMadeException(String why) {
      super(why);
    }
  }

  static final class UnknownException extends RuntimeException {
    UnknownException(String why) {
      super(why);
    }
  }

  /** A failure with more to it than a sentence. */
  static final class LimitException extends RuntimeException {
    final long limit;

    LimitException(long limit) {
      super("limit " + limit);
      this.limit = limit;
    }
  }

  private static final class Limits implements CallProtocol.Kinds {
    @Override
    public byte @Nullable [] encode(Throwable failure) {
      return failure instanceof LimitException of ? new FrameWriter().number(of.limit).take() : null;
    }

    @Override
    public RuntimeException decode(byte[] failure) throws MalformedFrameException {
      return new LimitException(new FrameReader(failure).number());
    }
  }

  static CallProtocol protocol(String name) {
    return new CallProtocol(name, "test tier", NotMadeException::new, UnknownException::new, UnknownException.class::isInstance, new Limits());
  }

  /** A call as it arrived. */
  record Arrived(long number, CompletableFuture<byte[]> answer) {}

  final Wires wires;
  final CallLinks links;
  final List<Arrived> arrived = new ArrayList<>();

  /** What the tier does with a call. */
  Function<Arrived, CompletableFuture<byte[]>> does = Arrived::answer;

  /** What waits for the end of a pause; pauses have no length unless {@link #pauses}. */
  final List<Runnable> paused = new ArrayList<>();

  boolean pauses;

  CallReceiver receiver;
  @Nullable Link accepted;
  private final CallBounds tierBounds;

  CallTier(Random random, Link.Settings settings, CallProtocol spoken, CallBounds callerBounds, CallBounds tierBounds) {
    this.tierBounds = tierBounds;
    receiver = receiver();
    wires =
        new Wires(
            random,
            settings,
            (link, opening) -> {
              accepted = link;
              return receiver.open(link, opening);
            });
    CallLinks.Network network = opening -> handler -> wires.dial(opening.encode(), handler);
    links = new CallLinks(spoken, "caller", 7, network, wires.senderTasks::add, this::runLater, callerBounds);
  }

  private CallReceiver receiver() {
    return new CallReceiver(PROTOCOL, this::runSoon, tierBounds, this::answer);
  }

  private void runLater(Runnable task) {
    if (pauses) paused.add(task);
    else wires.senderTasks.add(task);
  }

  private void runSoon(Runnable task) {
    wires.receiverTasks.add(task);
  }

  private CompletableFuture<byte[]> answer(byte[] call) throws MalformedFrameException {
    var one = new Arrived(new FrameReader(call).number(), new CompletableFuture<>());
    arrived.add(one);
    return does.apply(one);
  }

  void restarts() {
    receiver = receiver();
    wires.receiverRestarts();
  }

  static byte[] bytes(long number, int length) {
    return new FrameWriter().number(number).bytes(new byte[length]).take();
  }

  CompletableFuture<Long> call(long number) {
    return call(number, 0, 0);
  }

  CompletableFuture<Long> call(long number, int length, long answerBytes) {
    return links.call(bytes(number, length), answerBytes, answer -> new FrameReader(answer).number());
  }

  Link accepted() {
    return Objects.requireNonNull(accepted);
  }

  List<Long> numbers() {
    return arrived.stream().map(Arrived::number).toList();
  }

  Arrived last() {
    return arrived.getLast();
  }
}
