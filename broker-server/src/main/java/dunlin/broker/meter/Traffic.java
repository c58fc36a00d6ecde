package dunlin.broker.meter;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** The traffic of a frontend's connections: control packets by type, and bytes. */
public final class Traffic {
  /*
   * Owner: any thread may read; only its event loop writes a Local, with a plain addition.
   * Bounds: one Local for each event loop.
   */
  private static final VarHandle COUNT = MethodHandles.arrayElementVarHandle(long[].class);

  /** Longs on either side of the counts, so that two loops' counts never share a pair of cache lines. */
  private static final int PADDING = 16;

  private static final int RECEIVED = PADDING;
  private static final int SENT = RECEIVED + 16;
  private static final int BYTES_RECEIVED = SENT + 16;
  private static final int BYTES_SENT = BYTES_RECEIVED + 1;
  private static final int LENGTH = BYTES_SENT + 1 + PADDING;

  private final List<Local> locals = new CopyOnWriteArrayList<>();

  public Traffic(MeterRegistry registry) {
    FunctionCounter.builder("dunlin.received", this, Traffic::bytesReceived)
        .baseUnit("bytes")
        .description("Bytes of MQTT that clients sent")
        .register(registry);
    FunctionCounter.builder("dunlin.sent", this, Traffic::bytesSent)
        .baseUnit("bytes")
        .description("Bytes of MQTT that were written to clients")
        .register(registry);
    for (PacketType type : PacketType.values()) {
      if (type.fromClients()) {
        FunctionCounter.builder("dunlin.packets.received", this, traffic -> traffic.received(type))
            .description("Control packets that clients sent, by type")
            .tag("type", type.label())
            .register(registry);
      }
      if (type.fromServers()) {
        FunctionCounter.builder("dunlin.packets.sent", this, traffic -> traffic.sent(type))
            .description("Control packets that were written to clients, by type")
            .tag("type", type.label())
            .register(registry);
      }
    }
  }

  /** Creates the counts of one event loop; only that loop may write them. */
  public Local local() {
    Local local = new Local();
    locals.add(local);
    return local;
  }

  public long received(PacketType type) {
    return sum(RECEIVED + type.code(), 1);
  }

  public long sent(PacketType type) {
    return sum(SENT + type.code(), 1);
  }

  public long packetsReceived() {
    return sum(RECEIVED, 16);
  }

  public long packetsSent() {
    return sum(SENT, 16);
  }

  public long bytesReceived() {
    return sum(BYTES_RECEIVED, 1);
  }

  public long bytesSent() {
    return sum(BYTES_SENT, 1);
  }

  private long sum(int from, int count) {
    long sum = 0;
    for (Local local : locals) {
      for (int i = from; i < from + count; i++) sum += (long) COUNT.getOpaque(local.counts, i);
    }
    return sum;
  }

  /** The counts of one event loop. */
  public static final class Local {
    private final long[] counts = new long[LENGTH];

    private Local() {}

    public void received(PacketType type) {
      add(RECEIVED + type.code(), 1);
    }

    public void sent(PacketType type) {
      add(SENT + type.code(), 1);
    }

    public void bytesReceived(int bytes) {
      add(BYTES_RECEIVED, bytes);
    }

    public void bytesSent(int bytes) {
      add(BYTES_SENT, bytes);
    }

    private void add(int index, long more) {
      COUNT.setOpaque(counts, index, counts[index] + more);
    }
  }
}
