package dunlin.chaos.mqtt;

import dunlin.chaos.mqtt.check.Drops;
import java.util.Random;

/** What the clients of a row connect to: one broker, or the brokers of a cluster. */
interface Service {
  /** @param random chooses between several brokers */
  Entrance entrance(Random random);

  /** Fails unless every broker that has been started and not stopped is alive. */
  void mustRun();

  /** All drops by rules of D10 that the running brokers have counted. */
  Drops drops();

  /** Routes that the running brokers have mended, since the dist tier's and their subscriptions differed. */
  long mendedRoutes();
}
