package dunlin.retain;

import dunlin.model.Publication;
import dunlin.retain.RetainCommand.Add;
import dunlin.retain.RetainCommand.Clear;
import dunlin.retain.RetainCommand.RemoveExpired;
import dunlin.retain.RetainCommand.Set;
import dunlin.retain.RetainRangeClient.Sums;
import dunlin.retain.RetainResult.Limit;
import dunlin.retain.index.SizeClass;
import dunlin.retain.index.TopicIndex;
import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The state machine of a retain range: one row per topic with a retained message, and the index of those topics. The
 * last message in log order wins.
 */
final class RetainRange implements RangeLogic<RetainCommand, RetainResult> {
  /*
   * Owner: the range's applying thread. Readers walk the index while it changes.
   * Bounds: Set refuses messages beyond the limits in the command. The sums follow from the rows alone, so that all
   * replicas refuse the same. Commands are checked again when they are applied, and invalid ones are refused: no
   * command may stop a replica at each of its starts.
   * Failure: the index is built from the rows. A topic is added before its row is readable, and removed before its row
   * is deleted; to a reader a missing row is a missing message. That is consistent, since the commands in question have
   * not been answered yet, and rows never go back.
   */
  private volatile TopicIndex index = new TopicIndex();
  private final AtomicLong topicBytes = new AtomicLong();
  private final AtomicLong bytes = new AtomicLong();
  private final TenantMessages tenants = new TenantMessages();

  /** The topics with a message. Installing a snapshot replaces the whole index. */
  TopicIndex index() {
    return index;
  }

  /** Bytes of the topics' keys. */
  long topicBytes() {
    return topicBytes.get();
  }

  /** Bytes of keys and messages on disk, each message rounded to its size class. */
  long bytes() {
    return bytes.get();
  }

  /** What each tenant has. */
  TenantMessages tenants() {
    return tenants;
  }

  /** Bytes of a topic's message and key; 0 when it has none. Any thread. */
  long sizeOf(byte[] key) {
    var walk = index.walk();
    return walk.seek(key, key.length) && walk.isAt(key) ? key.length + SizeClass.bytes(walk.sizeClass()) : 0;
  }

  /** What it has, each figure as of the moment in which it is read. Any thread. */
  Sums sums() {
    return new Sums(index.size(), topicBytes(), bytes());
  }

  @Override
  public void open(RangeReader state) {
    TopicIndex topics = new TopicIndex();
    long[] sums = new long[2];
    var byTenant = new TenantMessages.Count();
    state.scan(
        new byte[0],
        null,
        (key, row) -> {
          byte size = SizeClass.of(row.length);
          topics.put(key, size);
          long bytesOfTopic = key.length + SizeClass.bytes(Byte.toUnsignedInt(size));
          sums[0] += key.length;
          sums[1] += bytesOfTopic;
          byTenant.add(key, bytesOfTopic);
          return true;
        });
    index = topics;
    topicBytes.set(sums[0]);
    bytes.set(sums[1]);
    tenants.replace(byTenant, this::sizeOf);
  }

  @Override
  public List<RetainResult> apply(List<RetainCommand> commands, RangeWriter out) {
    List<RetainResult> results = new ArrayList<>(commands.size());
    for (RetainCommand command : commands) {
      results.add(
          switch (command) {
            case Set set -> set(set.bounds(), set.message(), out);
            case Add add -> add(add, out);
            case Clear clear -> new RetainResult.Removed(remove(clear.key(), out) ? 1 : 0);
            case RemoveExpired remove -> removeExpired(remove, out);
          });
    }
    return results;
  }

  private RetainResult add(Add command, RangeWriter out) {
    Publication message = command.message();
    byte[] row = TopicKeys.hasKey(message) ? out.get(TopicKeys.of(message)) : null;
    if (row != null && !RetainCodec.message(row).expired(command.nowMillis())) return RetainResult.PRESENT;
    return set(command.bounds(), message, out);
  }

  private RetainResult set(RetainBounds bounds, Publication message, RangeWriter out) {
    if (message.payloadLength() == 0 || !TopicKeys.hasKey(message)) return Limit.INVALID.refused();
    byte[] key = TopicKeys.of(message);
    byte size = SizeClass.of(message.encodedLength());
    int before = index.sizeClass(key);
    boolean isNew = before == SizeClass.NONE;
    long bytesBefore = isNew ? 0 : key.length + SizeClass.bytes(before);
    long bytesAfter = key.length + SizeClass.bytes(Byte.toUnsignedInt(size));
    long more = bytesAfter - bytesBefore;
    if (isNew && index.size() >= bounds.messagesMax()) return Limit.MESSAGES.refused();
    if (isNew && topicBytes.get() + key.length > bounds.topicBytesMax()) return Limit.TOPIC_BYTES.refused();
    if (more > 0 && bytes.get() + more > bounds.bytesMax()) return Limit.BYTES.refused();
    index.put(key, size);
    if (isNew) topicBytes.addAndGet(key.length);
    bytes.addAndGet(more);
    tenants.changed(message.tenant(), key, bytesBefore, bytesAfter);
    out.put(key, RetainCodec.row(message));
    return RetainResult.STORED;
  }

  private boolean remove(byte[] key, RangeWriter out) {
    int size = index.remove(key);
    if (size == SizeClass.NONE) return false;
    topicBytes.addAndGet(-key.length);
    bytes.addAndGet(-key.length - SizeClass.bytes(size));
    tenants.changed(TopicKeys.tenant(key), key, key.length + SizeClass.bytes(size), 0);
    out.delete(key);
    return true;
  }

  private RetainResult removeExpired(RemoveExpired command, RangeWriter out) {
    int removed = 0;
    for (byte[] key : command.keys().subList(0, Math.min(RemoveExpired.KEYS_MAX, command.keys().size()))) {
      byte[] row = out.get(key);
      if (row != null && RetainCodec.message(row).expired(command.nowMillis()) && remove(key, out)) removed++;
    }
    return new RetainResult.Removed(removed);
  }
}
