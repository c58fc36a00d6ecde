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

/** Proposes the store's own entries to a range's log. */
final class ControlProposals {
  /*
   * Owner: any thread that may block.
   * Failure: an entry without an answer may still be applied; the caller checks the range's state.
   */
  private static final Logger log = LoggerFactory.getLogger(ControlProposals.class);
  /** Short, because a heartbeat tells the followers, too. */
  private static final Duration TELLING = Duration.ofSeconds(1);

  private final RangeId range;
  private final RaftGroupId group;
  private final ClientId clientId = ClientId.randomId();
  // A number space of its own: the proposer is asked about the call id of each entry that is to be appended.
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
   * Like {@link #propose}, and makes followers apply the entry soon. They learn that an entry is committed with the
   * next entry, or in a range without writes with the leader's next heartbeat.
   *
   * @param entry must have no effect when it is applied again
   */
  void proposeAndTell(RaftServer server, ControlEntry entry, Duration deadline) {
    propose(server, entry, deadline);
    try {
      propose(server, entry, TELLING.compareTo(deadline) < 0 ? TELLING : deadline);
    } catch (StoreException e) {
      log.debug("Range {}: its followers learn of {} with the next heartbeat: {}", range, entry, e.getMessage());
    }
  }
}
