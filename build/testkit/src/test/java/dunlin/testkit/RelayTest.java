package dunlin.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RelayTest {
  private static final Duration SOON = Duration.ofMinutes(2);
  private static final int NOTHING_MILLIS = 200;

  private final ServerSocket target = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  private final FreePorts ports = new FreePorts();
  private final Relay relay = new Relay(ports.any(), target.getLocalPort(), 2);

  RelayTest() throws IOException {}

  @BeforeEach
  void open() {
    relay.open();
  }

  @AfterEach
  void close() throws IOException {
    relay.close();
    target.close();
    ports.close();
  }

  private Socket dial() throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), relay.port());
    socket.setSoTimeout((int) SOON.toMillis());
    return socket;
  }

  private Socket accept() throws IOException {
    target.setSoTimeout((int) SOON.toMillis());
    Socket accepted = target.accept();
    accepted.setSoTimeout((int) SOON.toMillis());
    return accepted;
  }

  /** Sends a byte, which arrives. */
  private static void passes(Socket from, Socket to, int sent) throws IOException {
    from.getOutputStream().write(sent);
    assertThat(to.getInputStream().read()).isEqualTo(sent);
  }

  private static void hearsNothing(Socket socket) throws IOException {
    socket.setSoTimeout(NOTHING_MILLIS);
    assertThatThrownBy(() -> socket.getInputStream().read()).isInstanceOf(SocketTimeoutException.class);
    socket.setSoTimeout((int) SOON.toMillis());
  }

  private static void isReset(Socket socket) {
    assertThatThrownBy(() -> socket.getInputStream().read()).isInstanceOf(IOException.class).hasMessageContaining("reset");
  }

  @Test
  void passesBothWaysUntilBothSidesHaveEnded() throws IOException {
    try (var near = dial(); var far = accept()) {
      passes(near, far, 1);
      passes(far, near, 2);

      near.shutdownOutput();
      assertThat(far.getInputStream().read()).as("the end").isEqualTo(-1);
      passes(far, near, 3);
      far.shutdownOutput();
      assertThat(near.getInputStream().read()).as("the end").isEqualTo(-1);
    }
  }

  @Test
  void whatIsSentDuringACutArrivesAfterIt() throws IOException {
    try (var near = dial(); var far = accept()) {
      passes(near, far, 1);
      relay.cut(true);
      near.getOutputStream().write(2);
      far.getOutputStream().write(3);
      hearsNothing(far);
      hearsNothing(near);

      relay.cut(false);
      assertThat(far.getInputStream().read()).isEqualTo(2);
      assertThat(near.getInputStream().read()).isEqualTo(3);
    }
  }

  @Test
  void aConnectionThatIsOpenedDuringACutHearsNothing() throws IOException {
    relay.cut(true);
    try (var near = dial()) {
      near.getOutputStream().write(1);
      hearsNothing(near);

      relay.cut(false);
      try (var far = accept()) {
        assertThat(far.getInputStream().read()).isEqualTo(1);
      }
    }
  }

  @Test
  void aSenderIsHeldUpWhenTheBuffersAreFull() throws IOException {
    var sent = new AtomicLong();
    var seen = new AtomicLong(-1);
    try (var near = dial(); var far = accept()) {
      passes(near, far, 1);
      relay.cut(true);
      Thread.startVirtualThread(
          () -> {
            try {
              while (true) {
                near.getOutputStream().write(new byte[8192]);
                sent.addAndGet(8192);
              }
            } catch (IOException _) {
              // The test has ended.
            }
          });
      await("the sender stands still").atMost(SOON).pollInterval(Duration.ofMillis(NOTHING_MILLIS)).until(() -> sent.get() > 0 && seen.getAndSet(sent.get()) == sent.get());
      assertThat(sent.get()).as("buffers of the relay and of the kernel").isLessThan(32 << 20);
    }
  }

  @Test
  void delays() throws IOException {
    try (var near = dial(); var far = accept()) {
      passes(near, far, 1);
      relay.delay(Duration.ofMillis(NOTHING_MILLIS));
      for (int i = 0; i < 3; i++) {
        long start = System.nanoTime();
        passes(near, far, i);
        assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(NOTHING_MILLIS));
      }
    }
  }

  @Test
  void resetsItsConnectionsWhenItIsClosedAndRefusesNewOnes() throws IOException {
    try (var near = dial(); var far = accept()) {
      passes(near, far, 1);
      relay.close();
      isReset(near);
      isReset(far);
      assertThatThrownBy(this::dial).isInstanceOf(IOException.class);

      relay.open();
      try (var again = dial(); var accepted = accept()) {
        passes(again, accepted, 2);
      }
    }
  }

  @Test
  void refusesConnectionsFromTheMomentOnWhenItIsClosed() {
    for (int i = 0; i < 200; i++) {
      relay.close();
      assertThatThrownBy(this::dial).isInstanceOf(IOException.class);
      relay.open();
    }
  }

  @Test
  void resetsAConnectionThatItsTargetRefuses() throws IOException {
    target.close();
    try (var near = dial()) {
      isReset(near);
    }
  }

  @Test
  void resetsWhatIsMoreThanItsBound() throws IOException {
    try (var one = dial(); var _ = accept(); var two = dial(); var _ = accept(); var three = dial()) {
      isReset(three);
      hearsNothing(one);
      hearsNothing(two);
    }
  }
}
