package dunlin.store.raft;

import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.node.RaftNode;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientRequest;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.thirdparty.com.google.protobuf.UnsafeByteOperations;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Puts the store's own entries into a range's log. */
final class ControlProposals {
  /*
   * Owner: any thread that may block.
   * Failure: an entry whose answer does not come may still be applied; the caller looks at what the range has become.
   */
  private static final Logger log = LoggerFactory.getLogger(ControlProposals.class);
  /** Worth no more: a heartbeat tells the followers, too. */
  private static final Duration TELLING = Duration.ofSeconds(1);

  private final RangeId range;
  private final RaftGroupId group;
  private final ClientId clientId = ClientId.randomId();
  // Numbers of their own: the proposer, too, is asked about the number of each entry that is about to come into the log.
  private final AtomicLong calls = new AtomicLong(1L << 62);

  ControlProposals(RangeId range, RaftGroupId group) {
    this.range = range;
    this.group = group;
  }

  /** Returns when the entry is applied here. */
  void propose(RaftServer server, ControlEntry entry, Duration deadline) {
    var request =
        RaftClientRequest.newBuilder()
            .setClientId(clientId)
            .setServerId(server.getId())
            .setGroupId(group)
            .setCallId(calls.incrementAndGet())
            .setType(RaftClientRequest.writeRequestType())
            .setMessage(Message.valueOf(UnsafeByteOperations.unsafeWrap(entry.toBytes())))
            .build();
    try {
      RaftNode.await(server.submitClientRequestAsync(request), "take a change of range '" + range + "'", deadline);
    } catch (IOException e) {
      throw new StoreException("range '" + range + "' cannot take a change: " + e.getMessage(), e);
    }
  }

  /**
   * The same, and soon on the followers. They apply what they know to be committed, and hear of that with the entry behind it:
   * in a range without writes, with the next heartbeat of its leader.
   *
   * @param entry does nothing when it is applied once more
   */
  void proposeAndTell(RaftServer server, ControlEntry entry, Duration deadline) {
    propose(server, entry, deadline);
    try {
      propose(server, entry, TELLING.compareTo(deadline) < 0 ? TELLING : deadline);
    } catch (StoreException e) {
      log.debug("Range {}: its followers hear of {} with the next heartbeat: {}", range, entry, e.getMessage());
    }
  }
}
