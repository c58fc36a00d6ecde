package dunlin.broker.guard;

import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;
import java.util.List;

/**
 * The blocks of a node, as operators see and end them by JMX: {@code dunlin:type=Blocks,node=<id>}. A block is made by the node itself and
 * counts there only; a ban is made by an operator, and counts in the whole cluster.
 */
@Description("Addresses and clients that this node refuses for a while")
public interface BlocksMXBean {
  /**
   * @param tenant of a client; empty for an address
   * @param value the address, the network, or the client identifier
   * @param until in ISO format
   */
  record BlockRow(BlockKind kind, String tenant, String value, String until, String reason) {}

  @Description("Lists the present blocks of a kind in the order of their values")
  List<BlockRow> blocks(
      @Description("What is blocked: ADDRESS or CLIENT") BlockKind kind,
      @Description("Tenant of the clients; ignored for addresses") String tenant,
      @Description("The last value of the previous page; empty for the first page") String after,
      @Description("Maximum number of blocks in the answer: 1 to 1000") @Unit("blocks") int max);

  @Description("Ends a block, and begins to count anew")
  void remove(
      @Description("What is blocked: ADDRESS or CLIENT") BlockKind kind,
      @Description("Tenant of the client; ignored for addresses") String tenant,
      @Description("An address, an IPv6 /64 network, or a client identifier") String value);
}
