package dunlin.runtime.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import javax.management.JMException;
import javax.management.MBeanFeatureInfo;
import org.junit.jupiter.api.Test;

class DescribedBeanTest {
  /** A bean as a feature would declare it. */
  @Description("A door")
  public interface DoorMXBean {
    @Description("Whether it is open")
    boolean isOpen();

    @Description("How far, in degrees")
    int getAngle();

    @Description("Opens it")
    void open(@Description("In degrees") int angle, @Description("Who does it") String hand);
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
  }

  @Test
  void descriptionsOfTheInterfaceAreShown() throws JMException {
    var bean = DescribedBean.of(new Door());

    var info = bean.getMBeanInfo();

    assertThat(info.getDescription()).isEqualTo("A door");
    assertThat(info.getAttributes())
        .extracting(MBeanFeatureInfo::getDescription)
        .containsExactlyInAnyOrder("Whether it is open", "How far, in degrees");
    var open = info.getOperations()[0];
    assertThat(open.getDescription()).isEqualTo("Opens it");
    assertThat(Arrays.stream(open.getSignature()).map(each -> each.getName() + ": " + each.getDescription()))
        .containsExactly("angle: In degrees", "hand: Who does it");
    bean.invoke("open", new Object[] {90, "left"}, new String[] {"int", "java.lang.String"});
    assertThat(bean.getAttribute("Angle")).isEqualTo(90);
  }

  @Test
  void otherObjectsAreRefused() {
    assertThatThrownBy(() -> DescribedBean.of("text")).isInstanceOf(IllegalArgumentException.class);
  }
}
