package dunlin;

import dunlin.links.LinkDialler;
import dunlin.links.LinkPeer;
import dunlin.links.LinkService;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;

/** Wires over gRPC, from a process to itself over loopback. */
final class GrpcWires implements AutoCloseable {
  private static final UUID NODE = UUID.fromString("00000000-0000-0000-0000-000000000001");
  private static final int LINKS_OF_A_WIRE = 8;
  private static final int FRAME_BYTES_MAX = 32 << 20;

  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final LinkService service = new LinkService(NODE, _ -> Optional.of("127.0.0.1"), meters);
  private final Map<UUID, LinkDialler> diallers = new ConcurrentHashMap<>();
  private final AtomicInteger names = new AtomicInteger();
  private final Server server;

  GrpcWires() {
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    try {
      server = NettyServerBuilder.forAddress(address).directExecutor().maxInboundMessageSize(FRAME_BYTES_MAX).addService(service.definition()).build().start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * @param caller the node of the side that dials
   * @param near runs what the side that dials does
   * @param far runs what the side that accepts does
   */
  Wire wire(UUID caller, Executor near, Executor far, Wire.Accepting accepting) {
    String name = "wire-" + names.incrementAndGet();
    long identity = UUID.randomUUID().getMostSignificantBits();
    var _ = service.accept(name, new LinkAcceptor(identity, Link.Settings.defaults(), LINKS_OF_A_WIRE, far, System::nanoTime, accepting::accept), far);
    var dialler = diallers.computeIfAbsent(caller, node -> new LinkDialler(node, Link.Settings.defaults(), null, null, meters));
    var peer = new LinkPeer(NODE, "127.0.0.1", server.getPort());
    return new Wire() {
      @Override
      public Link dial(byte[] opening, Link.Handler handler) {
        return dialler.dial(() -> Optional.of(peer), name, opening, near, handler);
      }

      @Override
      public void close() {}
    };
  }

  @Override
  public void close() {
    diallers.values().forEach(LinkDialler::close);
    service.close();
    server.shutdownNow();
  }
}
