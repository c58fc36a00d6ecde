package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.Dunlin;
import dunlin.TestBroker;
import dunlin.cluster.ClusterMXBean;
import dunlin.harness.ClusterClients;
import dunlin.harness.FreePort;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.Restarts;
import dunlin.retain.RetainedMessagesMXBean;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import javax.management.JMX;
import javax.management.JMException;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A range of retained messages that has grown is split by the cluster itself, and after a restart its parts are what it was. */
class RetainedGrowthIT {
  private static final int TOPICS = 3_000;
  private static final int WINDOW = 100;
  private static final int PAYLOAD = 1_000;

  private final int service = FreePort.any();
  private final int raft = FreePort.any();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();

  private Dunlin start(Path directory) {
    return Dunlin.builder()
        .tcpPort(0)
        .dataDirectory(directory)
        .set("dunlin.cluster.service-port", Integer.toString(service))
        .set("dunlin.cluster.port", Integer.toString(raft))
        .set("dunlin.cluster.seeds", "127.0.0.1:" + service)
        .set("dunlin.cluster.bootstrap-expect", "1")
        .set("dunlin.cluster.heartbeat", "200ms")
        .set("dunlin.cluster.split-bytes", "1MiB")
        .set("dunlin.cluster.split-bytes-min", "64KiB")
        .meterRegistry(meters)
        .build();
  }

  private static <T> T bean(Dunlin broker, String type, Class<T> shape) throws JMException {
    var pattern = new ObjectName("dunlin:type=" + type + ",*");
    var own =
        await(type)
            .atMost(TestBroker.SOON)
            .until(
                () ->
                    ManagementFactory.getPlatformMBeanServer().queryNames(pattern, null).stream()
                        .filter(name -> broker.nodeId().startsWith(name.getKeyProperty("node")))
                        .findFirst(),
                Optional::isPresent)
            .orElseThrow();
    return JMX.newMXBeanProxy(ManagementFactory.getPlatformMBeanServer(), own, shape);
  }

  private static long ranges(ClusterMXBean cluster) {
    return cluster.getRanges().stream().filter(range -> range.kind().equals("retain")).count();
  }

  @Test
  void aRangeThatHasGrownIsSplit(@TempDir Path directory) throws JMException {
    var random = new Random(5);
    var kept = new TreeMap<String, String>();
    try (var broker = start(directory)) {
      var cluster = bean(broker, "Cluster", ClusterMXBean.class);
      try (var publisher = ClusterClients.connected(broker.tcpPort(), Connect.of("publisher").clean())) {
        for (int topic = 0; topic < TOPICS; topic++) {
          String name = "meters/" + random.nextInt(100) + "/" + topic;
          String payload = random.ints(PAYLOAD, 'a', 'z' + 1).collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append).toString();
          kept.put(name, payload);
          publisher.publish(name, payload, 1, topic % WINDOW + 1, false, true);
          if (topic % WINDOW == WINDOW - 1) publisher.next(WINDOW, RawClient.PUBACK).forEach(answer -> assertThat(answer.reason()).isLessThan(0x80));
        }
      }
      await().atMost(TestBroker.SOON).until(() -> ranges(cluster) >= 3 && cluster.getOperations().isEmpty());
      found(broker, kept);
    }
    try (var broker = Restarts.again(() -> start(directory))) {
      found(broker, kept);
      assertThat(ranges(bean(broker, "Cluster", ClusterMXBean.class))).isGreaterThanOrEqualTo(3);
    }
    Restarts.awaitReleased(directory);
  }

  private void found(Dunlin broker, Map<String, String> kept) throws JMException {
    try (var subscriber = ClusterClients.connected(broker.tcpPort(), Connect.of("subscriber").clean())) {
      subscriber.subscribe("#", 0);
      var found = new TreeMap<String, String>();
      while (found.size() < kept.size()) {
        var message = subscriber.message();
        assertThat(found.put(message.topic(), message.text())).as("%s came before", message.topic()).isNull();
      }
      assertThat(found).isEqualTo(kept);
    }
    var operations = bean(broker, "RetainedMessages", RetainedMessagesMXBean.class);
    await().atMost(TestBroker.SOON).until(operations::getTopics, topics -> topics == kept.size());
    await().atMost(TestBroker.SOON).until(() -> meters.get("dunlin.retain.messages").gauge().value() == kept.size());
  }
}
