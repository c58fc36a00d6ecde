package dunlin.admin.peers;

import dunlin.admin.peers.OperatorCopies.OperatorCopy;
import dunlin.admin.peers.PeerBeans.Gathered;
import dunlin.cluster.ClusterMXBean.NodeRow;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps the operators of all nodes of a cluster the same: a change goes to the others at once, and each node asks one of the others for what it has missed, in turn. */
public final class OperatorSharing {
  /*
   * Owner: the thread that has changed an operator spreads the change; the node's housekeeping starts the turns, each of which asks on a virtual thread.
   * Bounds: one turn at a time, which asks one node; a change asks the others with the bounds of PeerBeans.
   * Failure: a node that does not answer gets the change in one of its own turns, or hands over what it has then. What is the same on both sides is not sent.
   */
  private static final Logger log = LoggerFactory.getLogger(OperatorSharing.class);

  /** How often a node asks another one. */
  public static final int TURN_SECONDS = 5;

  private final PeerBeans peers;
  private final OperatorCopies own;
  private final AtomicBoolean asking = new AtomicBoolean();
  private int turn; // written by the thread that asks, of which there is one

  public OperatorSharing(PeerBeans peers, OperatorCopies own) {
    this.peers = peers;
    this.own = own;
  }

  /** Sends changes to all other nodes that are up, and waits for them as for other questions. */
  public void spread(List<OperatorCopy> changed) {
    Gathered<Integer> gathered = peers.ofPresentOthers(OperatorCopies.class, node -> node.take(peers.node(), changed));
    for (String sentence : gathered.unanswered()) log.info("A changed operator comes to another node later: {}", sentence);
  }

  /** Begins to ask the next node, unless one is being asked. Does nothing without a cluster. */
  public void turn() {
    List<String> others = peers.nodes().stream().filter(row -> !row.id().equals(peers.node()) && !PeerBeans.isGone(row)).map(NodeRow::id).toList();
    if (others.isEmpty() || !asking.compareAndSet(false, true)) return;
    Thread.ofVirtual().name("dunlin-operators").start(() -> ask(others));
  }

  private void ask(List<String> others) {
    try {
      String node = others.get(Math.floorMod(turn++, others.size()));
      peers.at(node, OperatorCopies.class).ifPresent(there -> own.take(node, there.unless(own.digest())));
    } catch (UncheckedIOException silent) {
      log.debug("The operators of another node are not known now: {}", silent.getMessage()); // it may have no port for them
    } catch (RuntimeException failure) {
      log.warn("The operators of another node cannot be taken over", failure);
    } finally {
      asking.set(false);
    }
  }
}
