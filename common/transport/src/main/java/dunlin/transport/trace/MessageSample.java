package dunlin.transport.trace;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.model.Publication;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A random sample of the messages of one tenant that come in on this node, in which each of them is as likely as any other, however many there are and whenever in
 * the sample's time they come. So shares in the sample are those of all messages, off by at most {@code 0.5 / sqrt(SIZE)} in two of three samples.
 */
public final class MessageSample implements Follower {
  /*
   * A reservoir by skips (Li's Algorithm L): once it is full, it is known in advance which message comes in next, in the place of a random one. So nearly all
   * messages cost one addition, and none anything while no sample is taken.
   *
   * Owner: any thread notes, mostly event loops. The lock is for the few messages that are taken.
   * Bounds: SIZE messages, with the first characters of topic and client identifier.
   */
  public static final int SIZE = 4_096;

  private final TraceCriteria.Question question;
  private final RandomGenerator random;
  private final long endsAtNanos;
  private final AtomicLong published = new AtomicLong();

  /** The number of the next message that is taken, from 1; written under the lock. */
  private volatile long next = 1;

  @GuardedBy("this")
  private final List<Message> taken = new ArrayList<>();

  /** The largest random number of a message in the sample, if each message had one and those with the smallest were taken. */
  @GuardedBy("this")
  private double threshold = 1;

  /**
   * A message of the sample.
   *
   * @param topic its first {@link Trace.Event#TEXT_MAX} characters, as of the publisher
   * @param publisher client identifier; empty for the node itself and the application that embeds it
   */
  public record Message(String topic, String publisher, int payloadBytes) {}

  MessageSample(TraceCriteria criteria, RandomGenerator random, long endsAtNanos) {
    this.question = criteria.question();
    this.random = random;
    this.endsAtNanos = endsAtNanos;
  }

  boolean isDue(long nanos) {
    return nanos - endsAtNanos >= 0;
  }

  @Override
  public boolean meets(Publication message, Trace.@Nullable Party party) {
    return question.meets(message, party);
  }

  @Override
  public boolean concerns(Publication message) {
    return question.concerns(message);
  }

  @Override
  public void add(String hop, Trace.Step step, String reason, Publication message, String client) {
    if (!Trace.comesIn(hop, step)) return;
    long number = published.incrementAndGet();
    if (number >= next) take(number, message);
  }

  private synchronized void take(long number, Publication message) {
    if (number < next) return; // another thread's message has come into the place
    Message one = new Message(Trace.Event.cut(message.topic()), Trace.Event.cut(message.publisher().clientId()), message.payloadLength());
    if (taken.size() < SIZE) taken.add(one);
    else taken.set(random.nextInt(SIZE), one);
    if (taken.size() < SIZE) return;
    threshold *= Math.exp(Math.log(positive()) / SIZE);
    next = number + 1 + (long) Math.floor(Math.log(positive()) / Math.log1p(-threshold));
  }

  /** A random number above 0 and up to 1. */
  private synchronized double positive() {
    return 1 - random.nextDouble();
  }

  /** How many messages have come in, those that are not in the sample included. */
  public long published() {
    return published.get();
  }

  /** Those that are in the sample at this moment, in no order. */
  public synchronized List<Message> messages() {
    return List.copyOf(taken);
  }
}
