package dunlin.chaos.mqtt;

/**
 * A promise that a history shows to be broken.
 *
 * @param promise D1 to D12 of docs/DELIVERY.md
 * @param kind the same words for each of its kind, to count them by
 */
record Violation(String promise, String kind, String what) {
  @Override
  public String toString() {
    return promise + " " + kind + ": " + what;
  }
}
