package dunlin.links;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Questions over gRPC on loopback. */
class QuestionCallsTest {
  private static final UUID THERE = new UUID(1, 1);
  private static final UUID HERE = new UUID(2, 2);
  private static final UUID STRANGER = new UUID(3, 3);
  private static final Duration LONG = Duration.ofMinutes(1);
  private static final Duration SHORT = Duration.ofSeconds(1);

  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final QuestionCalls calls = new QuestionCalls(HERE, null, meters);
  private final CountDownLatch released = new CountDownLatch(1);
  private Server server;

  @BeforeEach
  void serve() throws IOException {
    var service = new QuestionService(THERE, node -> Optional.ofNullable(Map.of(HERE, "127.0.0.1").get(node)), this::answer, meters);
    server =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .directExecutor()
            .maxInboundMessageSize(service.messageBytesMax())
            .addService(service.definition())
            .build()
            .start();
  }

  @AfterEach
  void close() {
    released.countDown();
    calls.close();
    server.shutdownNow();
  }

  private byte[] answer(byte[] question) {
    return switch (text(question)) {
      case "fail" -> throw new IllegalStateException("as asked");
      case "large" -> new byte[QuestionService.ANSWER_BYTES_MAX + 1];
      case "largest" -> new byte[QuestionService.ANSWER_BYTES_MAX];
      case "wait" -> {
        try {
          released.await();
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
        yield bytes("waited");
      }
      default -> bytes("answer to " + text(question));
    };
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private LinkPeer there() {
    return new LinkPeer(THERE, "127.0.0.1", server.getPort());
  }

  private byte[] ask(String question, Duration deadline) throws IOException {
    return calls.ask(there(), bytes(question), deadline);
  }

  private double count(String meter) {
    return meters.get(meter).counter().count();
  }

  @Test
  void aQuestionIsAnswered() throws IOException {
    assertThat(text(ask("this", LONG))).isEqualTo("answer to this");
    assertThat(text(ask("", LONG))).isEqualTo("answer to ");
    assertThat(ask("largest", LONG)).hasSize(QuestionService.ANSWER_BYTES_MAX);
    assertThat(count("dunlin.links.questions.asked")).isEqualTo(3);
    assertThat(count("dunlin.links.questions.failed")).isZero();
  }

  @Test
  void whatGoesWrongIsAFailureWithASentence() throws Exception {
    assertThat(text(ask("this", LONG))).as("so that there is a connection").isEqualTo("answer to this");
    assertThatThrownBy(() -> ask("wait", SHORT)).isInstanceOf(IOException.class).hasMessage("did not answer within 1 s");
    assertThatThrownBy(() -> ask("fail", LONG)).isInstanceOf(IOException.class).hasMessageContaining("it could not answer; its log says why");
    assertThatThrownBy(() -> ask("large", LONG)).isInstanceOf(IOException.class).hasMessageContaining("ask for fewer rows");
    assertThatThrownBy(() -> calls.ask(there(), new byte[QuestionService.QUESTION_BYTES_MAX + 1], LONG)).isInstanceOf(IOException.class);
    assertThat(count("dunlin.links.questions.failed")).isEqualTo(4);
    assertThat(text(ask("this", LONG))).as("after all this").isEqualTo("answer to this");

    LinkPeer gone = there(); // a server that has ended no longer says where it was
    server.shutdownNow().awaitTermination();
    assertThatThrownBy(() -> calls.ask(gone, bytes("this"), LONG)).isInstanceOf(IOException.class).hasMessageContaining("cannot be reached");
  }

  @Test
  void onlyNodesOfTheClusterMayAskAndOnlyTheNodeThatTheyMean() throws IOException {
    try (var stranger = new QuestionCalls(STRANGER, null, meters)) {
      assertThatThrownBy(() -> stranger.ask(there(), bytes("this"), LONG)).hasMessageContaining("knows no node " + STRANGER);
    }
    LinkPeer other = new LinkPeer(STRANGER, "127.0.0.1", server.getPort());
    assertThatThrownBy(() -> calls.ask(other, bytes("this"), LONG)).hasMessageContaining("this is node " + THERE);
    assertThat(count("dunlin.links.refused")).isEqualTo(2);
  }

  @Test
  void questionsAreAnsweredUpToANumberAtATime() throws Exception {
    List<Future<byte[]>> waiting = new ArrayList<>();
    try (ExecutorService asking = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i <= QuestionService.QUESTIONS_MAX; i++) waiting.add(asking.submit(() -> ask("wait", LONG)));
      Future<byte[]> refused = waiting.remove(firstDone(waiting));
      assertThatThrownBy(refused::get).isInstanceOf(ExecutionException.class).hasMessageContaining("it answers 16 questions at a time already");
      assertThat(meters.get("dunlin.links.questions").gauge().value()).isEqualTo(QuestionService.QUESTIONS_MAX);
      released.countDown();
      for (Future<byte[]> each : waiting) assertThat(text(each.get())).isEqualTo("waited");
    }
    assertThat(text(ask("this", LONG))).as("the places are free again").isEqualTo("answer to this");
  }

  /** The one that is refused ends; the others wait. */
  private static int firstDone(List<Future<byte[]>> waiting) {
    long end = System.nanoTime() + LONG.toNanos();
    while (System.nanoTime() < end) {
      for (int i = 0; i < waiting.size(); i++) if (waiting.get(i).isDone()) return i;
      Thread.onSpinWait();
    }
    throw new AssertionError("none is refused");
  }

  @Test
  void closingEndsWhatWaits() throws Exception {
    try (ExecutorService asking = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<byte[]> waiting = asking.submit(() -> ask("wait", LONG));
      while (meters.get("dunlin.links.questions").gauge().value() == 0 && !waiting.isDone()) Thread.onSpinWait();
      calls.close();
      assertThatThrownBy(waiting::get).isInstanceOf(ExecutionException.class).hasCauseInstanceOf(IOException.class);
      assertThatThrownBy(() -> ask("this", LONG)).isInstanceOf(IOException.class).hasMessageContaining("this node is stopping");
    }
  }
}
