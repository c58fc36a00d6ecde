package dunlin.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.platform.testkit.engine.EventConditions.container;
import static org.junit.platform.testkit.engine.EventConditions.event;
import static org.junit.platform.testkit.engine.EventConditions.finishedWithFailure;
import static org.junit.platform.testkit.engine.EventConditions.test;
import static org.junit.platform.testkit.engine.TestExecutionResultConditions.instanceOf;
import static org.junit.platform.testkit.engine.TestExecutionResultConditions.message;
import static org.junit.platform.testkit.engine.TestExecutionResultConditions.suppressed;

import dunlin.Dunlin;
import dunlin.Message;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.eclipse.paho.mqttv5.client.MqttClient;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;

/** Runs classes as JUnit does, also those that fail. */
class DunlinExtensionTest {
  private static final Duration SOON = Duration.ofMinutes(2);

  /** What the classes below have seen; each test clears it. */
  private static final List<Object> SEEN = new CopyOnWriteArrayList<>();

  private static final CyclicBarrier BOTH = new CyclicBarrier(2);

  @BeforeEach
  void clear() {
    SEEN.clear();
  }

  private static EngineExecutionResults run(Class<?>... tests) {
    return EngineTestKit.engine("junit-jupiter")
        .selectors(Stream.of(tests).map(DiscoverySelectors::selectClass).toArray(DiscoverySelector[]::new))
        .configurationParameter("junit.jupiter.execution.parallel.enabled", "true")
        .configurationParameter("junit.jupiter.execution.parallel.mode.classes.default", "concurrent")
        .configurationParameter("junit.jupiter.execution.parallel.config.strategy", "fixed")
        .configurationParameter("junit.jupiter.execution.parallel.config.fixed.parallelism", "2")
        .execute();
  }

  @Test
  void classesThatRunInParallelHaveBrokersAndEventsOfTheirOwn() {
    run(AtOnce.class, AtOnceToo.class).testEvents().assertStatistics(all -> all.succeeded(2).failed(0));
    assertThat(SEEN.stream().distinct()).as("ports").hasSize(2);
  }

  /** Waits for the other one. */
  private static void atOnce(MqttClient client, int port, BrokerEvents events) throws Exception {
    SEEN.add(port);
    client.publish("t", new byte[1], 1, false);
    BOTH.await(SOON.toSeconds(), TimeUnit.SECONDS);
    events.await(each -> each instanceof BrokerEvent.Connection, SOON);
    assertThat(events.connections()).hasSize(1);
  }

  @DunlinTest(scope = DunlinTest.Scope.METHOD)
  static class AtOnce {
    @Test
    void one(MqttClient client, @OnNode int port, BrokerEvents events) throws Exception {
      atOnce(client, port, events);
    }
  }

  @DunlinTest(scope = DunlinTest.Scope.METHOD)
  static class AtOnceToo {
    @Test
    void other(MqttClient client, @OnNode int port, BrokerEvents events) throws Exception {
      atOnce(client, port, events);
    }
  }

  @Test
  void aBrokerOfAClassStopsWithIt() {
    run(OneForTheClass.class).testEvents().assertStatistics(all -> all.succeeded(3).failed(0));
    assertThat(SEEN).hasSize(3);
    assertThat(SEEN.stream().distinct()).as("one broker, also for the nested class").hasSize(1);
    assertStopped((int) SEEN.getFirst());
  }

  private static void assertStopped(int port) {
    try (var _ = new Socket(InetAddress.getLoopbackAddress(), port)) {
      throw new AssertionError("port " + port + " is still served");
    } catch (IOException _) {
      // As it should be.
    }
  }

  @DunlinTest
  static class OneForTheClass {
    @BeforeAll
    static void start(@OnNode int port) {
      SEEN.add(port);
    }

    @Test
    void one(@OnNode(0) int port, URI uri, Dunlin broker, DunlinCluster cluster) {
      SEEN.add(port);
      assertThat(uri).isEqualTo(URI.create("tcp://127.0.0.1:" + port));
      assertThat(cluster.node(0)).isSameAs(broker);
    }

    @Nested
    class Inner {
      @Test
      void two(@OnNode int port, MqttClient client) {
        SEEN.add(port);
        assertThat(client.isConnected()).isTrue();
      }
    }

    @Test
    void clientsHaveIdentifiersOfTheirOwn(MqttClient one, MqttClient other, Dunlin broker) {
      assertThat(one.getClientId()).isNotEqualTo(other.getClientId());
      assertThat(broker.clients("", "", 10)).extracting(Dunlin.Client::clientId).contains(one.getClientId(), other.getClientId());
    }
  }

  @Test
  void aBrokerOfAMethodHasEmptyDataAndItsClientsAreClosedFirst() {
    run(OneForEachMethod.class).testEvents().assertStatistics(all -> all.succeeded(2).failed(0));
    assertThat(SEEN.stream().filter(Integer.class::isInstance).distinct()).hasSize(2).allSatisfy(port -> assertStopped((int) port));
    assertThat(SEEN.stream().filter(MqttClient.class::isInstance)).hasSize(2).noneMatch(client -> ((MqttClient) client).isConnected());
  }

  @DunlinTest(scope = DunlinTest.Scope.METHOD, settings = {"dunlin.session.queue-messages-max = 50", "dunlin.node.name=by=setting"})
  static class OneForEachMethod {
    @Test
    void one(MqttClient client, @OnNode int port, Dunlin broker) throws Exception {
      findsNothingAndLeavesSomething(client, port, broker);
    }

    @Test
    void other(MqttClient client, @OnNode int port, Dunlin broker) throws Exception {
      findsNothingAndLeavesSomething(client, port, broker);
    }

    private static void findsNothingAndLeavesSomething(MqttClient client, int port, Dunlin broker) throws Exception {
      SEEN.add(client);
      SEEN.add(port);
      var retained = new CopyOnWriteArrayList<Message>();
      var _ = broker.subscribe("kept", retained::add);
      client.publish("kept", new byte[1], 1, true);
      broker.publish(Message.of("kept", new byte[2], 1)).get(60, TimeUnit.SECONDS);
      await().atMost(SOON).until(() -> retained.size() >= 2);
      assertThat(retained).as("nothing of another method").hasSize(2);
    }
  }

  @Test
  void aTestThatFailsHasTheEvents() {
    run(Fails.class)
        .testEvents()
        .assertThatEvents()
        .haveExactly(
            1,
            event(
                test("fails"),
                finishedWithFailure(
                    message("it fails"),
                    suppressed(
                        0,
                        instanceOf(ReportedEvents.class),
                        message(text -> text.contains("node 0: Connected[") && text.contains("WARN dunlin.events ") && !text.contains("client-1,"))))));
  }

  @DunlinTest
  @TestInstance(TestInstance.Lifecycle.PER_CLASS)
  @TestMethodOrder(MethodOrderer.MethodName.class)
  static class Fails {
    @Test
    void earlier(MqttClient client, BrokerEvents events) {
      events.await(each -> each.toString().contains(client.getClientId()), SOON);
    }

    @Test
    void fails(MqttClient client, @OnNode int port, BrokerEvents events) throws IOException {
      try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        socket.getOutputStream().write(new byte[] {(byte) 0xF0, 0}); // AUTH is no first packet
        assertThat(socket.getInputStream().read()).isEqualTo(-1);
      }
      events.await(each -> each instanceof BrokerEvent.Line line && line.logger().equals("dunlin.events") && line.node() == 0, SOON);
      events.await(each -> each instanceof BrokerEvent.Connection, SOON);
      assertThat(events.connections()).hasSizeGreaterThanOrEqualTo(1);
      assertThat(events.lines()).isNotEmpty();
      throw new AssertionError("it fails");
    }
  }

  @Test
  void aWrongSettingFailsTheClassWithItsSentence() {
    fails(WrongSetting.class, "a node cannot start: Unknown key dunlin.no-such-key");
    fails(NoSetting.class, "a setting of @DunlinTest is written key=value, and not 'dunlin.node.name'");
    fails(OwnSetting.class, "dunlin.data-dir is set by the test kit");
    fails(TooManyNodes.class, "9 nodes, must be 1 to 7");
  }

  private static void fails(Class<?> tests, String sentence) {
    run(tests).containerEvents().assertThatEvents().haveExactly(1, event(container(tests), finishedWithFailure(message(text -> text.startsWith(sentence)))));
  }

  static class OneTest {
    @Test
    void neverRuns() {
      throw new AssertionError("it runs");
    }
  }

  @DunlinTest(settings = "dunlin.no-such-key=1")
  static class WrongSetting extends OneTest {}

  @DunlinTest(settings = "dunlin.node.name")
  static class NoSetting extends OneTest {}

  @DunlinTest(settings = "dunlin.data-dir=/tmp")
  static class OwnSetting extends OneTest {}

  @DunlinTest(nodes = 9)
  static class TooManyNodes extends OneTest {}

  @Test
  void aParameterThatCannotBeFailsTheTest() {
    run(WrongParameters.class)
        .testEvents()
        .assertThatEvents()
        .haveExactly(1, event(test("noSuchNode"), finishedWithFailure(message("@OnNode(1): the nodes of this test are 0 to 0"))))
        .haveExactly(1, event(test("noSuchType"), finishedWithFailure(message(text -> text.contains("No ParameterResolver registered")))))
        .haveExactly(1, event(test("noPort"), finishedWithFailure(message(text -> text.contains("No ParameterResolver registered")))))
        .haveExactly(1, event(test("stopped"), finishedWithFailure(message(text -> text.startsWith("a MqttClient cannot connect to node 0: ")))))
        .haveExactly(
            1, event(test("noFactory"), finishedWithFailure(message(text -> text.startsWith("no ClientFactory makes a java.lang.String; there are [") && text.contains(MqttClient.class.getName())))));
  }

  @DunlinTest(scope = DunlinTest.Scope.METHOD)
  static class WrongParameters {
    @BeforeEach
    void stop(TestInfo info, DunlinCluster cluster) {
      if (info.getDisplayName().startsWith("stopped")) cluster.stop(0);
    }

    @Test
    void noSuchNode(@OnNode(1) URI uri) {}

    @Test
    void noSuchType(String text) {}

    @Test
    void noPort(int port) {}

    @Test
    void stopped(MqttClient client) {}

    @Test
    void noFactory(TestClients clients) throws Exception {
      clients.connect(String.class, 0);
    }
  }

  @Test
  void aStaticMethodHasNoBrokerOfAMethod() {
    run(TooEarly.class)
        .containerEvents()
        .assertThatEvents()
        .haveExactly(1, event(container(TooEarly.class), finishedWithFailure(message(text -> text.startsWith("there is no broker yet: ")))));
  }

  @DunlinTest(scope = DunlinTest.Scope.METHOD)
  static class TooEarly extends OneTest {
    @BeforeAll
    static void early(URI uri) {
      SEEN.add(uri);
    }
  }
}
