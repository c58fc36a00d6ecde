package dunlin.transport.lane;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.model.Publication;
import dunlin.transport.trace.Trace.Step;
import dunlin.transport.trace.Tracer;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The messages of QoS 0 that the streams of one hop have not brought to the other side, by reason, and the account of all their messages. The call that counts a drop
 * notes it in the traces that follow the message. Any thread.
 */
public final class UnacknowledgedDrops {
  /*
   * Bounds: an account for each open stream; those of closed ones are one sum.
   */
  private static final String OVERLOADED = "overloaded";
  private static final String UNREACHABLE = "unreachable";

  private final String hop;
  private final Tracer tracer;
  private final LongAdder overloaded = new LongAdder();
  private final LongAdder unreachable = new LongAdder();

  /** Of what did not come to an open stream. */
  private final StreamAccount late = new StreamAccount(true);

  @GuardedBy("this")
  private final Set<StreamAccount> open = new HashSet<>();

  /** Of closed streams. */
  @GuardedBy("this")
  private LinkAccount closed = LinkAccount.NONE;

  /**
   * @param hop as the counters of drops name it
   * @param tracer has the traces of this node
   */
  public UnacknowledgedDrops(String hop, Tracer tracer) {
    this.hop = hop;
    this.tracer = tracer;
  }

  /** Counts what no operator looks at. */
  public static UnacknowledgedDrops unwatched() {
    return new UnacknowledgedDrops("", Tracer.idle());
  }

  /**
   * What to keep of a message on its way, to note it if it is lost.
   *
   * @return the message if a trace follows it, otherwise null
   */
  public @Nullable Publication followed(Publication message) {
    return tracer.follows(message, null) ? message : null;
  }

  /** Makes the account of a stream. */
  synchronized StreamAccount open() {
    StreamAccount account = new StreamAccount(false);
    open.add(account);
    return account;
  }

  /** Ends the account of a stream, on its thread; answers what it counts in from now on. */
  synchronized StreamAccount close(StreamAccount account) {
    if (open.remove(account)) closed = closed.plus(account.reading());
    return late;
  }

  /** What has become of all messages of the hop, at about this moment. Not of pushes, which come by no stream. */
  public synchronized LinkAccount account() {
    LinkAccount sum = closed.plus(late.reading());
    for (StreamAccount each : open) sum = sum.plus(each.reading());
    return sum.plus(new LinkAccount(0, 0, 0, overloaded() + unreachable(), 0));
  }

  /** A message was dropped in front of a stream, because the other side takes messages more slowly than they come. */
  public void refuseOverloaded(Publication message) {
    late.received();
    late.dropped();
    countOverloaded(message);
  }

  /** A message is given up that has come to no stream, since what it needs cannot be reached. */
  public void giveUp(Publication message) {
    late.received();
    late.dropped();
    countUnreachable(message);
  }

  /** A message was dropped because the other side takes messages more slowly than they come. */
  public void countOverloaded(Publication message) {
    overloaded.increment();
    note(OVERLOADED, message);
  }

  /**
   * A message was on its way when its link was lost, or there was no link for it.
   *
   * @param message null if it was not kept, because no trace {@linkplain #followed followed} it
   */
  public void countUnreachable(@Nullable Publication message) {
    unreachable.increment();
    note(UNREACHABLE, message);
  }

  private void note(String reason, @Nullable Publication message) {
    if (message != null && tracer.runs()) tracer.note(hop, Step.DROPPED, reason, message, null);
  }

  /** Messages that were dropped because the other side takes them more slowly than they come. */
  public long overloaded() {
    return overloaded.sum();
  }

  /** Messages that were on their way when their link was lost, or that no link was there for. Some may have arrived. */
  public long unreachable() {
    return unreachable.sum();
  }
}
