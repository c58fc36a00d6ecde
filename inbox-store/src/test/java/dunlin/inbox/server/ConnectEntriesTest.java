package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.InboxClient.Will;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.rows.SessionCommand;
import dunlin.model.QoS;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** What a CONNECT costs the log of the sessions. */
@ParameterizedClass(name = "{0} ranges")
@ValueSource(ints = {1, 3})
final class ConnectEntriesTest {
  @Parameter int ranges;

  private InboxNode node;
  private final ConcurrentLinkedQueue<Object> log = new ConcurrentLinkedQueue<>();

  @BeforeEach
  void open() throws Exception {
    node = new InboxNode(null, ranges, InboxSettings.defaults());
    node.local().log = log;
  }

  @AfterEach
  void close() {
    node.close();
  }

  /** Whether the session is new, or is taken from a connection, or has none; with a will and with messages that wait. */
  @Test
  void eachConnectIsOneCommandInOneRange() throws Exception {
    node.connect("c", new Will(node.message(QoS.AT_LEAST_ONCE, "gone"), 3_600));
    isOneConnect();

    var taken = node.connect("c", new Will(node.message(QoS.AT_LEAST_ONCE, "gone too"), 3_600)).session();
    isOneConnect();

    node.subscribe(taken, "a", QoS.AT_LEAST_ONCE);
    InboxNode.get(node.server.disconnect(taken, false, 3_600));
    node.publish("m");
    log.clear();
    assertThat(node.connect("c").sessionPresent()).isTrue();
    isOneConnect();
  }

  private void isOneConnect() {
    assertThat(log).singleElement().extracting(command -> command instanceof SessionCommand.Beside beside ? beside.command() : command).isInstanceOf(SessionCommand.Connect.class);
    log.clear();
  }
}
