package dunlin.broker.guard;

import dunlin.runtime.EventLine;
import dunlin.runtime.metrics.NodeBeans;
import java.util.Comparator;
import java.util.List;
import java.util.NoSuchElementException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** Shows operators the blocks of a node, and ends those that they name. */
public final class BlocksBean implements BlocksMXBean {
  /*
   * Owner: any thread; keeps nothing.
   * Bounds: a page has PAGE_MAX rows; the blocks have their own bounds.
   * Failure: wrong input is an IllegalArgumentException, a block that is not there a NoSuchElementException.
   */
  private static final Logger events = LoggerFactory.getLogger("dunlin.audit");
  private static final int PAGE_MAX = 1_000;

  private final Guard guard;
  private final String node;

  /** @param node its name, for events */
  public BlocksBean(Guard guard, String node) {
    this.guard = guard;
    this.node = node;
  }

  @Override
  public List<BlockRow> blocks(BlockKind kind, String tenant, String after, int max) {
    NodeBeans.requireMax(max, PAGE_MAX);
    return guard.blocks(kind).stream()
        .filter(block -> kind == BlockKind.ADDRESS || block.tenant().equals(tenant))
        .filter(block -> block.value().compareTo(after) > 0)
        .sorted(Comparator.comparing(Block::value))
        .limit(max)
        .map(block -> new BlockRow(kind, block.tenant(), block.value(), block.until().toString(), block.reason()))
        .toList();
  }

  @Override
  public void remove(BlockKind kind, String tenant, String value) {
    if (!guard.unblock(kind, tenant, value)) throw new NoSuchElementException("there is no such block");
    EventLine.of(events, Level.INFO, "block-removed")
        .text("node", node)
        .word("kind", kind.label())
        .text("tenant", kind == BlockKind.ADDRESS ? "" : tenant)
        .text("value", value)
        .write();
  }
}
