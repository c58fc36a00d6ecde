package dunlin.dist.remote;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.model.TopicFilter;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Lane;
import dunlin.transport.LeftBehind;
import dunlin.transport.Terms;
import dunlin.transport.lane.FrameReader;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.lane.Messages;
import dunlin.transport.lane.ReceivingStream;
import dunlin.transport.lane.Repeating;
import dunlin.transport.lane.SendingStream;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.lane.ValueDictionary;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.SequencedSet;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Takes what the last member of a group at a frontend has left behind back to the leader of the routes, which deals it to members elsewhere. Messages of a
 * group keep their order.
 */
public final class RedealLane implements AutoCloseable {
  /*
   * The link is not that of the publishers: these are not delayed, and a leader of an earlier version accepts no such link, so that it gets nothing that it would deliver to
   * all subscribers.
   *
   * Members elsewhere may be slow, or take nothing, and the leader answers only then. So each group has a line of its own, and they take turns, a message at a time.
   *
   * Owner: its thread. Any thread deals and closes.
   * Bounds: MESSAGES_MAX messages of BYTES_MAX, or one of any size. Further ones are answered SERVER_BUSY. Of each group, only as many as fit into AT_A_TIME bytes are with
   *   the leader, or one; once it has ALL_AT_A_TIME bytes of all groups, it is sent no more. A line lives as long as it has messages that are not answered.
   * Failure: the stream's. What no leader has got in time is answered SERVER_UNAVAILABLE, whether it has waited for a leader or behind what that one has; the time begins
   *   when a message comes. So is QoS 2 whose link is lost when it may have been dealt.
   */
  static final int MESSAGES_MAX = 65_536;
  static final long BYTES_MAX = 32L << 20;
  static final long AT_A_TIME = 64 * 1_024;
  static final long ALL_AT_A_TIME = 16 * AT_A_TIME;

  private final Executor thread;
  private final Repeating repeating;
  private final SendingStream<TopicFilter> stream;
  private final Map<Group, GroupLine> lines = new HashMap<>();

  /** Lines that may send their next message, once each; no others than those in lines. */
  private final SequencedSet<GroupLine> turns = new LinkedHashSet<>();

  /** The messages of all lines that the leader does not have, in the order in which they came. */
  private final SequencedSet<Dealt> waiting = new LinkedHashSet<>();

  /** What is not answered. */
  private final AtomicInteger messages = new AtomicInteger();

  private final AtomicLong bytes = new AtomicLong();

  private long atLeader;
  private boolean sends;
  private boolean expiryDue;

  /**
   * @param thread runs tasks on the lane's thread, soon
   * @param repeating says how long a message may wait until a leader has it, too
   * @param drops counts the messages, and what becomes of them
   */
  public RedealLane(SendingStream.Dialler dialler, Executor thread, Repeating repeating, UnacknowledgedDrops drops) {
    this.thread = thread;
    this.repeating = repeating;
    stream = new SendingStream<>(dialler, Groups::new, thread, null, repeating, drops);
  }

  /** The group of each message of one link. */
  private static final class Groups implements SendingStream.Companion<TopicFilter> {
    private final ValueDictionary<TopicFilter> dictionary = new ValueDictionary<>(TopicFilter::length);

    @Override
    public void write(FrameWriter out, TopicFilter group) {
      dictionary.write(out, group, (to, filter) -> to.text(filter.text()));
    }

    @Override
    public void say(FrameWriter out) {
      throw new IllegalStateException("the dist tier is sent messages only");
    }

    @Override
    public void told(FrameReader in) throws MalformedFrameException {
      throw new MalformedFrameException("data other than answers");
    }

    @Override
    public void lost() {}
  }

  /** A group of a tenant. */
  private record Group(String tenant, TopicFilter filter) {}

  /** The messages of one group. */
  private final class GroupLine {
    private final Group group;
    private final ArrayDeque<Dealt> behind = new ArrayDeque<>();
    private long withLeader;

    GroupLine(Group group) {
      this.group = group;
    }

    void add(Dealt message) {
      behind.add(message);
      waiting.add(message);
      takeTurn();
    }

    private boolean maySend() {
      Dealt first = behind.peek();
      return first != null && (withLeader == 0 || withLeader + first.size() <= AT_A_TIME);
    }

    private void takeTurn() {
      if (maySend()) turns.add(this);
    }

    /** Its turn has come. */
    void send() {
      if (!maySend()) return; // the message that it was for has waited for too long
      Dealt first = behind.remove();
      waiting.remove(first);
      withLeader += first.size();
      atLeader += first.size();
      stream.send(first.message, group.filter(), null, first, first.deadline);
      takeTurn();
    }

    void answered(Dealt message) {
      withLeader -= message.size();
      atLeader -= message.size();
      takeTurn();
      forgetIfDone();
    }

    /** The first message has waited for too long. */
    void expire() {
      waiting.remove(behind.remove());
      takeTurn();
      forgetIfDone();
    }

    private void forgetIfDone() {
      if (withLeader > 0 || !behind.isEmpty()) return;
      lines.remove(group);
      turns.remove(this);
    }
  }

  /** A message that is dealt again. */
  private final class Dealt extends Acknowledgement {
    final Publication message;
    private final Group group;
    final long deadline = repeating.deadline();
    private final Acknowledgement to;

    Dealt(Publication message, TopicFilter group, Acknowledgement to) {
      this.message = message;
      this.group = new Group(message.publisher().tenant(), group);
      this.to = to;
    }

    int size() {
      return message.body().length;
    }

    @Override
    public Terms terms() {
      return to.terms();
    }

    @Override
    protected void complete(ReasonCode reason) {
      line().answered(this);
      if (matched()) to.markMatched();
      end(reason);
      sendMore();
    }

    GroupLine line() {
      return lines.computeIfAbsent(group, GroupLine::new);
    }

    void end(ReasonCode reason) {
      free(size());
      to.answer(reason);
    }
  }

  /** As {@link dunlin.dist.DistClient#redeal}. */
  public void redeal(Publication message, TopicFilter group, Acknowledgement acknowledgement) {
    int size = message.body().length;
    if (!take(size)) {
      acknowledgement.answer(ReasonCode.SERVER_BUSY);
      return;
    }
    var dealt = new Dealt(message, group, acknowledgement);
    try {
      thread.execute(() -> add(dealt));
    } catch (RejectedExecutionException ended) {
      dealt.end(ReasonCode.SERVER_UNAVAILABLE);
    }
  }

  private boolean take(int size) {
    int before = messages.getAndIncrement();
    long all = bytes.addAndGet(size);
    if (before == 0 || (before < MESSAGES_MAX && all <= BYTES_MAX)) return true;
    free(size);
    return false;
  }

  private void free(int size) {
    bytes.addAndGet(-size);
    messages.decrementAndGet();
  }

  private void add(Dealt message) {
    message.line().add(message);
    sendMore();
    expireLater();
  }

  private void sendMore() {
    if (sends) return; // an answer may come at once
    sends = true;
    try {
      while (atLeader < ALL_AT_A_TIME && !turns.isEmpty()) turns.removeFirst().send();
    } finally {
      sends = false;
    }
  }

  private void expireLater() {
    if (expiryDue || waiting.isEmpty()) return;
    expiryDue = true;
    long left = waiting.getFirst().deadline - repeating.nanoTime().getAsLong();
    repeating.later().run(this::expire, 1 + Math.max(0, TimeUnit.NANOSECONDS.toMillis(left)));
  }

  private void expire() {
    expiryDue = false;
    long now = repeating.nanoTime().getAsLong();
    while (!waiting.isEmpty() && now - waiting.getFirst().deadline >= 0) {
      Dealt first = waiting.getFirst();
      first.line().expire();
      first.end(ReasonCode.SERVER_UNAVAILABLE);
    }
    sendMore();
    expireLater();
  }

  /** Ends it, soon: what is not answered, and what comes later, is answered SERVER_UNAVAILABLE. Any thread. */
  @Override
  public void close() {
    thread.execute(stream::close);
  }

  /**
   * The other side: appends received messages to a lane, each for its group only, on the thread of the link.
   *
   * @param frontend the node that sends them
   */
  public static ReceivingStream.Receiver into(Lane lane, String frontend) {
    var groups = new ValueDictionary<TopicFilter>(TopicFilter::length);
    return new ReceivingStream.Receiver() {
      @Override
      public void take(Messages.Sent sent, FrameReader in, ReceivingStream.Receipt receipt, ReceivingStream stream) throws MalformedFrameException {
        var forGroup = new ForGroup(new LeftBehind(groups.read(in, RedealLane::group), frontend), receipt);
        receipt.expect();
        lane.append(sent.message(), null, forGroup);
        forGroup.answer(ReasonCode.SUCCESS);
      }

      @Override
      public void hear(FrameReader in, ReceivingStream stream) throws MalformedFrameException {
        throw new MalformedFrameException("data other than messages");
      }
    };
  }

  private static TopicFilter group(FrameReader in) throws MalformedFrameException {
    return TopicFilter.parse(in.text()).filter(TopicFilter::shared).orElseThrow(() -> new MalformedFrameException("not the filter of a group"));
  }

  private static final class ForGroup extends Acknowledgement {
    private final LeftBehind leftBehind;
    private final Acknowledgement to;

    ForGroup(LeftBehind leftBehind, Acknowledgement to) {
      this.leftBehind = leftBehind;
      this.to = to;
    }

    @Override
    public Terms terms() {
      return to.terms();
    }

    @Override
    public LeftBehind leftBehind() {
      return leftBehind;
    }

    @Override
    public boolean comesAgain() {
      return to.comesAgain();
    }

    @Override
    public void willFail(ReasonCode reason) {
      to.willFail(reason);
    }

    @Override
    protected void complete(ReasonCode reason) {
      if (matched()) to.markMatched();
      to.answer(reason);
    }
  }
}
