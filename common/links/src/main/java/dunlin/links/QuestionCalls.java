package dunlin.links;

import dunlin.store.grpc.FailureText;
import dunlin.store.grpc.ServiceTls;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Asks other nodes of the cluster what operators want to know; their {@link QuestionService} answers. */
public final class QuestionCalls implements AutoCloseable {
  /*
   * Owner: any thread that may block; it waits for the answer.
   * Bounds: ASKED_MAX questions at a time; one more waits for its deadline at most. Each has a connection of its own, which ends with it: they are rare, and
   * what a connection costs is little beside a person who waits.
   * Failure: an IOException whose message says, behind the name of the node, what it has not done. close() ends those that wait.
   */
  static final int ASKED_MAX = 32;

  private final UUID node;
  private final @Nullable ServiceTls tls;
  private final Semaphore places = new Semaphore(ASKED_MAX);
  private final Set<ManagedChannel> open = ConcurrentHashMap.newKeySet();
  private final Counter asked;
  private final Counter failed;

  private volatile boolean closed; // set by the thread that closes the node

  /**
   * @param node id of this node
   * @param tls null for connections without TLS
   */
  public QuestionCalls(UUID node, @Nullable ServiceTls tls, MeterRegistry meters) {
    this.node = node;
    this.tls = tls;
    asked = Counter.builder("dunlin.links.questions.asked").description("Operators' questions that were passed on to other nodes").register(meters);
    failed = Counter.builder("dunlin.links.questions.failed").description("Operators' questions to other nodes without an answer").register(meters);
  }

  /**
   * Asks a node, and waits for its answer.
   *
   * @throws IOException when there is none; the other node may have received the question all the same
   */
  public byte[] ask(LinkPeer to, byte[] question, Duration deadline) throws IOException {
    asked.increment();
    try {
      if (!places.tryAcquire(deadline.toNanos(), TimeUnit.NANOSECONDS)) throw new IOException("was not asked, since %d questions wait for answers".formatted(ASKED_MAX));
      try {
        return exchange(to, question, deadline);
      } finally {
        places.release();
      }
    } catch (InterruptedException e) {
      failed.increment();
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("was not waited for any longer");
    } catch (IOException e) {
      failed.increment();
      throw e;
    }
  }

  private byte[] exchange(LinkPeer to, byte[] question, Duration deadline) throws IOException, InterruptedException {
    ManagedChannel channel = LinkWire.connect(to, tls);
    open.add(channel);
    try {
      if (closed) throw new IOException("was not asked, since this node is stopping");
      var call = channel.newCall(LinkWire.ASK, CallOptions.DEFAULT.withDeadlineAfter(deadline.toNanos(), TimeUnit.NANOSECONDS));
      var answer = new Answer(deadline);
      call.start(answer, LinkWire.headers(node, to.node()));
      call.request(2); // as for any single answer: what comes behind it is looked at
      call.sendMessage(question);
      call.halfClose();
      return answer.whole.get();
    } catch (ExecutionException failure) {
      if (failure.getCause() instanceof IOException why) throw why;
      throw new IOException("could not be asked: " + failure.getCause(), failure);
    } finally {
      open.remove(channel);
      channel.shutdownNow();
    }
  }

  /** What comes back; gRPC calls it on one thread, and its deadline ends it at the latest. */
  private static final class Answer extends ClientCall.Listener<byte[]> {
    private final CompletableFuture<byte[]> whole = new CompletableFuture<>();
    private final Duration deadline;
    private byte @Nullable [] message;

    private Answer(Duration deadline) {
      this.deadline = deadline;
    }

    @Override
    public void onMessage(byte[] answer) {
      message = answer;
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      byte[] answer = message;
      if (status.isOk() && answer != null) whole.complete(answer);
      else whole.completeExceptionally(new IOException(text(status)));
    }

    private String text(Status status) {
      return switch (status.getCode()) {
        case DEADLINE_EXCEEDED -> "did not answer within %d s".formatted(deadline.toSeconds());
        case UNAVAILABLE -> "cannot be reached: " + FailureText.of(status);
        default -> "gave no answer: " + FailureText.of(status);
      };
    }
  }

  @Override
  public void close() {
    closed = true;
    open.forEach(ManagedChannel::shutdownNow);
  }
}
