package dunlin.broker;

import dunlin.broker.connect.Drain;
import dunlin.broker.connect.Reception;
import dunlin.broker.meter.FrontendMeters;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What operators see and change of a frontend. */
final class FrontendBean implements FrontendMXBean {
  /*
   * Owner: any thread. Beginning and ending a drain exclude each other.
   */
  private static final Logger log = LoggerFactory.getLogger(FrontendBean.class);

  private final Reception reception;
  private final FrontendMeters meters;
  private final String serverReference;

  /** @param serverReference for clients of a drain that names none; may be empty */
  FrontendBean(Reception reception, FrontendMeters meters, String serverReference) {
    this.reception = reception;
    this.meters = meters;
    this.serverReference = serverReference;
  }

  @Override
  public int getConnections() {
    return meters.connections();
  }

  @Override
  public boolean isDraining() {
    return reception.drain() != null;
  }

  @Override
  public synchronized void drain(String reference, int connectionsPerSecond) {
    Drain begun = new Drain(reception.parts(), reference.isEmpty() ? serverReference : reference, connectionsPerSecond);
    stopDrain();
    log.info("Draining: {} connections a second are sent to another server", connectionsPerSecond);
    reception.drain(begun);
    begun.start();
  }

  @Override
  public synchronized void stopDrain() {
    Drain ended = reception.drain();
    if (ended == null) return;
    reception.drain(null);
    ended.stop();
  }

  /** The Server Reference for clients that are disconnected now; may be empty. */
  String currentServerReference() {
    Drain drained = reception.drain();
    return drained == null ? serverReference : drained.serverReference();
  }
}
