package dunlin.transport.lane;

import dunlin.model.Publication;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A lane to the dist tier of another process, which sends again what a link leaves unanswered. Messages of QoS 0 hold
 * credit until the other side has delivered them.
 */
public final class RemoteLane implements Lane {
  /*
   * The other side says how many bytes it takes from this lane, in a SharedWindow. Until it has, on each link, that is
   * the smallest share there is.
   *
   * Owner, failure: those of the SendingStream.
   * Bounds: the lane's credit.
   */
  private final SendingStream<Nothing> stream;
  private final Executor thread;
  private final @Nullable Repeating repeating;

  /** Completes when the other side has taken a link that was begun since the last renew(); null without one. */
  private @Nullable CompletableFuture<Void> renewed;

  /** Nothing accompanies the messages of a publisher's lane. */
  private enum Nothing {
    NOTHING
  }

  /**
   * @param thread runs tasks on the lane's thread, soon
   * @param repeating null for a lane that sends nothing again
   * @param drops counts the QoS 0 messages that are lost
   */
  public RemoteLane(
      SendingStream.Dialler dialler, Executor thread, LaneCredit credit, @Nullable Repeating repeating, UnacknowledgedDrops drops) {
    this.thread = thread;
    this.repeating = repeating;
    stream = new SendingStream<>(dialler, () -> new Window(credit), thread, credit, repeating, drops);
    credit.allow(SharedWindow.SHARE_MIN);
  }

  /**
   * Of publishers that may go on elsewhere.
   *
   * @param goesOn whether messages of QoS 0 that have waited for a link may still be sent; the lane's thread
   */
  public RemoteLane(
      SendingStream.Dialler dialler, Executor thread, LaneCredit credit, Repeating repeating, UnacknowledgedDrops drops, BooleanSupplier goesOn) {
    this(dialler, thread, credit, repeating, drops);
    stream.goesOnWhile(goesOn);
  }

  /**
   * Gives the present link up, since publishers go on elsewhere: what was sent over it and is not answered fails or is sent again, as after a loss. Any thread.
   *
   * @return completes when the other side has taken the next link, so that nothing is delivered any more of what was sent before
   */
  public CompletableFuture<Void> renew() {
    var done = new CompletableFuture<Void>();
    thread.execute(
        () -> {
          var by = repeating;
          if (by == null) throw new IllegalStateException("a lane that sends nothing again");
          if (renewed == null) renewed = new CompletableFuture<>();
          var _ = renewed.thenRun(() -> done.complete(null));
          stream.renew(by);
        });
    return done;
  }

  private void isTaken() {
    var asked = renewed;
    renewed = null;
    if (asked != null) asked.complete(null);
  }

  private final class Window implements SendingStream.Companion<Nothing> {
    private final LaneCredit credit;

    Window(LaneCredit credit) {
      this.credit = credit;
    }

    @Override
    public void write(FrameWriter out, Nothing accompanying) {}

    @Override
    public void say(FrameWriter out) {
      throw new IllegalStateException("the dist tier is sent messages only");
    }

    @Override
    public void told(FrameReader in) throws MalformedFrameException {
      credit.allow(SharedWindow.decode(in));
      isTaken(); // it says so as soon as it has taken the link
    }

    @Override
    public void lost() {
      credit.allow(SharedWindow.SHARE_MIN);
    }
  }

  @Override
  public void append(Publication message, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    if (acknowledgement != null) acknowledgement.expect();
    stream.send(message, Nothing.NOTHING, feedback, acknowledgement);
  }

  /** The stream of its messages in flight. */
  public SendingStream<?> stream() {
    return stream;
  }

  /**
   * The other side of a remote lane: appends received messages to a local lane, on the thread of the link.
   *
   * @param window shared with the lanes of all senders
   */
  public static ReceivingStream.Receiver into(Lane lane, SharedWindow window) {
    return new ReceivingStream.Receiver() {
      @Override
      public void begun(ReceivingStream stream) {
        window.add(stream);
      }

      @Override
      public void ended(ReceivingStream stream) {
        window.remove(stream);
      }

      @Override
      public void take(Messages.Sent sent, FrameReader in, ReceivingStream.Receipt receipt, ReceivingStream stream) {
        lane.append(sent.message(), receipt, receipt);
      }

      @Override
      public void hear(FrameReader in, ReceivingStream stream) throws MalformedFrameException {
        throw new MalformedFrameException("data other than messages");
      }
    };
  }
}
