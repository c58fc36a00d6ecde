package dunlin.runtime.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import javax.management.JMException;
import javax.management.MBeanFeatureInfo;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;
import javax.management.RuntimeMBeanException;
import javax.management.remote.JMXAuthenticator;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXConnectorServer;
import javax.management.remote.JMXConnectorServerFactory;
import javax.management.remote.JMXPrincipal;
import javax.management.remote.JMXServiceURL;
import javax.security.auth.Subject;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class DescribedBeanTest {
  /** A bean as a feature would declare it. */
  @Description("A door")
  public interface DoorMXBean {
    @Description("Whether it is open")
    boolean isOpen();

    @Description("How far it is open")
    @Unit("degrees")
    int getAngle();

    @Description("Opens it")
    void open(@Description("How far") @Unit("degrees") int angle, @Description("Who does it") String hand);

    @Description("Unlocks it")
    void unlock(@Description("Which lock") String lock, @Description(value = "The key", concealed = true) String key);
  }

  private static final class Door implements DoorMXBean {
    private int angle;

    @Override
    public boolean isOpen() {
      return angle > 0;
    }

    @Override
    public int getAngle() {
      return angle;
    }

    @Override
    public void open(int wanted, String hand) {
      angle = wanted;
    }

    @Override
    public void unlock(String lock, String key) {
      if (lock.isEmpty()) throw new IllegalArgumentException("which lock?");
    }
  }

  @Test
  void descriptionsOfTheInterfaceAreShown() throws JMException {
    var bean = DescribedBean.of("door", new Door());

    var info = bean.getMBeanInfo();

    assertThat(info.getDescription()).isEqualTo("A door");
    assertThat(info.getAttributes())
        .extracting(MBeanFeatureInfo::getDescription)
        .containsExactlyInAnyOrder("Whether it is open", "How far it is open");
    assertThat(info.getAttributes()).extracting(each -> each.getName() + ": " + each.getDescriptor().getFieldValue("units")).containsExactlyInAnyOrder("Open: null", "Angle: degrees");
    var open = Arrays.stream(info.getOperations()).filter(each -> each.getName().equals("open")).findFirst().orElseThrow();
    assertThat(open.getDescription()).isEqualTo("Opens it");
    assertThat(Arrays.stream(open.getSignature()).map(each -> each.getName() + ": " + each.getDescription()))
        .containsExactly("angle: How far", "hand: Who does it");
    assertThat(Arrays.stream(open.getSignature()).map(each -> each.getDescriptor().getFieldValue("units"))).containsExactly("degrees", null);
    bean.invoke("open", new Object[] {90, "left"}, new String[] {"int", "java.lang.String"});
    assertThat(bean.getAttribute("Angle")).isEqualTo(90);
  }

  @Test
  @SuppressWarnings("BanJNDI") // the address is that of the server that was started here
  void theAuditSaysWhoHasCalledByRemoteJmxAndConcealsSecrets() throws Exception {
    var server = MBeanServerFactory.newMBeanServer();
    var name = new ObjectName("test:type=Door");
    server.registerMBean(DescribedBean.of("the door", new Door()), name);
    JMXAuthenticator alwaysOlga = _ -> new Subject(true, Set.of(new JMXPrincipal("olga")), Set.of(), Set.of());
    var remote =
        JMXConnectorServerFactory.newJMXConnectorServer(
            new JMXServiceURL("service:jmx:rmi://"), Map.of(JMXConnectorServer.AUTHENTICATOR, alwaysOlga), server);
    var lines = new ListAppender<ILoggingEvent>();
    var audit = (Logger) LoggerFactory.getLogger("dunlin.audit");
    lines.start();
    audit.addAppender(lines);
    remote.start();
    try (var client = JMXConnectorFactory.connect(remote.getAddress(), Map.of(JMXConnector.CREDENTIALS, "anything"))) {
      var door = client.getMBeanServerConnection();
      door.invoke(name, "unlock", new Object[] {"front", "the-key"}, new String[] {"java.lang.String", "java.lang.String"});
      assertThatThrownBy(() -> door.invoke(name, "unlock", new Object[] {"", "the-key"}, new String[] {"java.lang.String", "java.lang.String"}))
          .isInstanceOf(RuntimeMBeanException.class);
    } finally {
      audit.detachAppender(lines);
      remote.stop();
    }

    assertThat(lines.list).extracting(ILoggingEvent::getFormattedMessage)
        .allMatch(line -> line.startsWith("event=jmx-operation who=\"olga\" address=\"") && !line.contains("address=\"\"") && !line.contains("the-key"))
        .satisfiesExactly(
            line -> assertThat(line).endsWith("bean=\"the door\" operation=\"unlock\" arguments=\"lock=\\\"front\\\" key=***\" outcome=done"),
            line -> assertThat(line).endsWith("arguments=\"lock=\\\"\\\" key=***\" outcome=IllegalArgumentException"));
  }

  @Test
  void otherObjectsAreRefused() {
    assertThatThrownBy(() -> DescribedBean.of("door", "text")).isInstanceOf(IllegalArgumentException.class);
  }
}
