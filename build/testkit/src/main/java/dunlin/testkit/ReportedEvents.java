package dunlin.testkit;

/** Tells with the failure of a test what its brokers have reported. */
final class ReportedEvents extends RuntimeException {
  private static final long serialVersionUID = 1L;

  ReportedEvents(BrokerEvents events) {
    super(events.toString(), null, false, false);
  }
}
