package dunlin.runtime;

/** Where features tell what operators and auditors must be able to see, besides the counts in the metrics. */
public interface Events {
  /**
   * Messages were given up. Comes with every count of {@link HopLedger.Local#dropped}; any thread, must not block.
   *
   * @param hop where, as its ledger is named
   * @param clientId whose messages, or empty when they had no receiver yet
   */
  void dropped(String hop, DropReason reason, long messages, String clientId);
}
