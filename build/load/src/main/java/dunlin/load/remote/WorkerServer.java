package dunlin.load.remote;

import dunlin.load.remote.wire.Wire;
import io.grpc.CompressorRegistry;
import io.grpc.DecompressorRegistry;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** A worker: waits for a director, runs a share of its scenario, and waits for the next one. */
public final class WorkerServer implements AutoCloseable {
  /*
   * Owner: gRPC's threads take calls; each run has its own thread.
   * Bounds: one run at a time; a second director is refused. Protocol.MESSAGE_BYTES_MAX for a message.
   * Failure: a run ends when its director is gone, and the next one can begin.
   */
  private static final int TOLD_MAX = 2_000; // characters of an error, which is sent in a header
  private static final int CONNECTION_CALLS_MAX = 4;

  private final Server server;
  private final Path directory;
  private final List<String> sources;
  private final PrintWriter out;
  private final AtomicBoolean busy = new AtomicBoolean();

  /**
   * Starts to listen.
   *
   * @param directory the directory of files that a scenario names
   * @param sources source addresses; empty for those of the scenario
   * @param out receives a line at the begin and the end of each run
   */
  public WorkerServer(InetSocketAddress address, WorkerSecurity security, Path directory, List<String> sources, PrintWriter out) {
    this.directory = directory;
    this.sources = List.copyOf(sources);
    this.out = out;
    try {
      server =
          NettyServerBuilder.forAddress(address, security.server())
              .directExecutor()
              .addService(ServerServiceDefinition.builder(Protocol.SERVICE).addMethod(Protocol.RUN, (call, _) -> accept(call)).build())
              .maxInboundMessageSize(Protocol.MESSAGE_BYTES_MAX)
              .maxConcurrentCallsPerConnection(CONNECTION_CALLS_MAX)
              .permitKeepAliveTime(1, TimeUnit.SECONDS)
              .keepAliveTime(10, TimeUnit.SECONDS)
              .keepAliveTimeout(10, TimeUnit.SECONDS)
              // Without decompression, a small message cannot expand into a large one.
              .decompressorRegistry(DecompressorRegistry.emptyInstance())
              .compressorRegistry(CompressorRegistry.newEmptyInstance())
              .build();
    } catch (RuntimeException wrong) {
      throw security.unfit(wrong);
    }
    try {
      server.start();
    } catch (IOException failure) {
      throw new IllegalArgumentException("the worker cannot listen on %s: %s".formatted(address, WorkerLink.root(failure)), failure);
    }
  }

  public int port() {
    return server.getPort();
  }

  /** Waits until the server is closed. */
  public void await() throws InterruptedException {
    server.awaitTermination();
  }

  private ServerCall.Listener<Wire.FromDirector> accept(ServerCall<Wire.FromDirector, Wire.FromWorker> call) {
    if (!busy.compareAndSet(false, true)) {
      call.close(Status.FAILED_PRECONDITION.withDescription("has another run"), new Metadata());
      return new ServerCall.Listener<>() {};
    }
    var conversation = new Conversation<Wire.FromDirector, Wire.FromWorker>(new Conversation.Outlet<>() {
      @Override
      public boolean isReady() {
        return call.isReady();
      }

      @Override
      public void send(Wire.FromWorker message) {
        call.sendMessage(message);
      }

      @Override
      public void request(int messages) {
        call.request(messages);
      }
    });
    call.sendHeaders(new Metadata());
    call.request(Conversation.INBOX_MAX);
    Thread.ofPlatform().daemon().name("worker-run").start(() -> serve(call, conversation));
    return new ServerCall.Listener<>() {
      @Override
      public void onMessage(Wire.FromDirector message) {
        conversation.received(message);
      }

      @Override
      public void onReady() {
        conversation.ready();
      }

      @Override
      public void onHalfClose() {
        conversation.ended("the director has ended");
      }

      @Override
      public void onCancel() {
        conversation.ended("the director has gone");
      }
    };
  }

  private void serve(ServerCall<Wire.FromDirector, Wire.FromWorker> call, Conversation<Wire.FromDirector, Wire.FromWorker> conversation) {
    Status end = Status.OK;
    try {
      new WorkerSession(conversation, directory, sources, out).run();
    } catch (LostException lost) {
      out.println("The run has ended: " + lost.why());
      end = Status.CANCELLED.withDescription(lost.why());
    } catch (RuntimeException | Error failure) { // report it to the director, and keep this worker running
      String why = failure.getMessage() == null ? failure.toString() : failure.getMessage();
      out.println("The run has failed: " + why);
      end = Status.FAILED_PRECONDITION.withDescription(why.substring(0, Math.min(why.length(), TOLD_MAX)));
    } finally {
      busy.set(false); // before the director hears of the end, since it may begin the next run at once
    }
    try {
      call.close(end, new Metadata());
    } catch (IllegalStateException _) {
      // gRPC has closed the call, because the director is gone.
    }
  }

  @Override
  public void close() {
    server.shutdownNow();
  }
}
