package dunlin.chaos.mqtt.check;

/**
 * A broken promise in a history.
 *
 * @param promise D1 to D12 of docs/DELIVERY.md
 * @param kind the kind of violation, by which they are counted
 */
public record Violation(String promise, String kind, String what) {
  @Override
  public String toString() {
    return promise + " " + kind + ": " + what;
  }
}
