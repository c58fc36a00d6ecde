package dunlin.store.node;

import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.ratis.server.RaftServer;
import org.jspecify.annotations.Nullable;

/**
 * The transfer of the leadership that a group of Ratis has begun. While it is pending, Ratis refuses all commands of the group.
 *
 * <p>Ratis 3.3.0 does not forget a transfer that fails at once, because the connection to the successor is refused: the
 * leader then refuses commands until that node is back. It begins transfers by itself, too, when a node with a higher
 * priority has caught up.
 */
public final class PendingTransfer {
  /*
   * Owner: any thread. Ratis sets and takes the reference by atomic steps. To forget a transfer that goes on is harmless: the
   * successor is elected or not, by the rules of Raft.
   * Failure: with a Ratis that lacks these fields, the store does not start.
   */
  private final AtomicReference<@Nullable Object> pending;

  /** @param division a group on this node, as it is until it is closed */
  @SuppressWarnings("unchecked") // a type of Ratis that is not public
  public PendingTransfer(RaftServer.Division division) {
    try {
      Object transfer = value(Class.forName("org.apache.ratis.server.impl.RaftServerImpl").getDeclaredField("transferLeadership"), division);
      pending = (AtomicReference<@Nullable Object>) value(transfer.getClass().getDeclaredField("pending"), transfer);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this version of Ratis is not supported", e);
    }
  }

  private static Object value(Field field, Object of) throws IllegalAccessException {
    field.setAccessible(true);
    return field.get(of);
  }

  /** Whether the group refuses commands because of a transfer. */
  public boolean exists() {
    return pending.get() != null;
  }

  /** Has the group accept commands again, if this replica still leads it. */
  public void forget() {
    pending.set(null);
  }
}
