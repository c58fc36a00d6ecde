package dunlin.links;

import dunlin.store.grpc.Caller;
import dunlin.store.grpc.PeerService;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Answers questions that other nodes of the cluster ask with {@link QuestionCalls}, as a service of a gRPC server. */
public final class QuestionService implements PeerService {
  /*
   * Owner: gRPC's event loops, which are never blocked, read a question; a virtual thread of its own answers it.
   * Bounds: QUESTIONS_MAX at a time, one more is refused; QUESTION_BYTES_MAX, ANSWER_BYTES_MAX. A question keeps its place until its thread has ended,
   * also when the caller has stopped waiting, so the places bound the threads as well.
   * Failure: whatever goes wrong in an answer is logged, and the caller gets a sentence. The stream ends with its server.
   */
  /** The size of the largest question, in bytes: a client identifier, a topic and a filter with each character escaped. */
  public static final int QUESTION_BYTES_MAX = 4 << 20;

  /** The size of the largest answer, in bytes. */
  public static final int ANSWER_BYTES_MAX = 8 << 20;

  static final int QUESTIONS_MAX = 16;
  private static final Logger LOG = LoggerFactory.getLogger(QuestionService.class);

  private final UnaryOperator<byte[]> answers;
  private final Callers callers;
  private final Semaphore places = new Semaphore(QUESTIONS_MAX);

  /**
   * @param node the id of this node
   * @param hosts the host of a node of the cluster, if this node knows it; any thread
   * @param answers answers a question, on a thread that may block
   */
  public QuestionService(UUID node, Function<UUID, Optional<String>> hosts, UnaryOperator<byte[]> answers, MeterRegistry meters) {
    this.answers = answers;
    callers = new Callers("question", node, hosts, meters);
    Gauge.builder("dunlin.links.questions", places, free -> QUESTIONS_MAX - free.availablePermits())
        .description("Operators' questions of other nodes that this one is answering")
        .register(meters);
  }

  @Override
  public int messageBytesMax() {
    return QUESTION_BYTES_MAX;
  }

  @Override
  public ServerServiceDefinition definition() {
    return ServerServiceDefinition.builder(LinkWire.QUESTIONS).addMethod(LinkWire.ASK, this::begin).build();
  }

  private ServerCall.Listener<byte[]> begin(ServerCall<byte[], byte[]> call, Metadata headers) {
    var wrong = callers.wrong(call, headers);
    if (wrong != null) return callers.refuse(call, wrong);
    if (Caller.of(call).isFrontend()) {
      return callers.refuse(call, Status.PERMISSION_DENIED.withDescription("the caller's certificate is that of a frontend, which asks no other node"));
    }
    if (!places.tryAcquire()) {
      return callers.refuse(call, Status.RESOURCE_EXHAUSTED.withDescription("it answers %d questions at a time already".formatted(QUESTIONS_MAX)));
    }
    call.request(1);
    return new Question(call);
  }

  /** One question; gRPC calls it on one event loop. */
  private final class Question extends ServerCall.Listener<byte[]> {
    private final ServerCall<byte[], byte[]> call;
    private byte @Nullable [] text;

    /** Whether a thread answers it, which gives back the place. */
    private boolean handed;

    private Question(ServerCall<byte[], byte[]> call) {
      this.call = call;
    }

    @Override
    public void onMessage(byte[] message) {
      text = message;
    }

    @Override
    public void onHalfClose() {
      byte[] asked = text;
      if (asked == null || asked.length > QUESTION_BYTES_MAX) {
        call.close(Status.INVALID_ARGUMENT.withDescription("a question has up to %d bytes".formatted(QUESTION_BYTES_MAX)), new Metadata());
        return;
      }
      handed = true;
      Thread.ofVirtual().name("dunlin-question").start(() -> answer(asked));
    }

    private void answer(byte[] asked) {
      try {
        byte[] answer = answers.apply(asked);
        if (answer.length > ANSWER_BYTES_MAX) {
          call.close(Status.OUT_OF_RANGE.withDescription("its answer has %d bytes, more than %d; ask for fewer rows".formatted(answer.length, ANSWER_BYTES_MAX)), new Metadata());
          return;
        }
        call.sendHeaders(new Metadata());
        call.sendMessage(answer);
        call.close(Status.OK, new Metadata());
      } catch (RuntimeException failure) {
        LOG.warn("A question of another node could not be answered", failure);
        call.close(Status.INTERNAL.withDescription("it could not answer; its log says why"), new Metadata());
      } finally {
        places.release();
      }
    }

    @Override
    public void onCancel() {
      ended();
    }

    @Override
    public void onComplete() {
      ended();
    }

    private void ended() {
      if (!handed) places.release();
    }
  }
}
