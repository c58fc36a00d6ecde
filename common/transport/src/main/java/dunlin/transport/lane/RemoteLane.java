package dunlin.transport.lane;

import dunlin.model.Publication;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import java.util.concurrent.Executor;
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
    stream = new SendingStream<>(dialler, () -> new Window(credit), thread, credit, repeating, drops);
    credit.allow(SharedWindow.SHARE_MIN);
  }

  private record Window(LaneCredit credit) implements SendingStream.Companion<Nothing> {
    @Override
    public void write(FrameWriter out, Nothing accompanying) {}

    @Override
    public void say(FrameWriter out) {
      throw new IllegalStateException("the dist tier is sent messages only");
    }

    @Override
    public void told(FrameReader in) throws MalformedFrameException {
      credit.allow(SharedWindow.decode(in));
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
