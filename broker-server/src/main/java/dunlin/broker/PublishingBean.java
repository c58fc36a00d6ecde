package dunlin.broker;

import dunlin.broker.auth.Identity;
import dunlin.model.QoS;
import java.util.Base64;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Publishes as the embedding application does, and with its bounds. */
final class PublishingBean implements PublishingMXBean {
  /*
   * Owner: any thread that may block.
   */
  private static final long PATIENCE_SECONDS = 60;


  private final ApplicationPublisher publisher;

  PublishingBean(ApplicationPublisher publisher) {
    this.publisher = publisher;
  }

  @Override
  public Answer publish(String tenant, String topic, int qos, boolean retain, String payload) {
    var checked = new Identity(tenant, ""); // throws for a tenant that no client can have
    var message = publisher.message(checked.tenant(), topic, QoS.of(qos), retain, Base64.getDecoder().decode(payload));
    try {
      var reason = publisher.publish(message).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      return new Answer(reason.label(), reason.code());
    } catch (ExecutionException e) {
      // A JMX client need not have the classes of this broker.
      throw new IllegalStateException("the message was not published: " + (e.getCause() == null ? e : e.getCause()).getMessage());
    } catch (TimeoutException e) {
      throw new IllegalStateException("the message has no acknowledgement after " + PATIENCE_SECONDS + " s");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted");
    }
  }
}
