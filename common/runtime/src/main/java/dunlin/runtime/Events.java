package dunlin.runtime;

/** Events that operators and auditors must be able to see, besides the counts in the metrics. */
public interface Events {
  /**
   * Messages were dropped. Called for every count of {@link HopLedger.Local#dropped}, on any thread; must not block.
   *
   * @param hop the name of the hop's ledger
   * @param clientId the receiver of the messages, or empty when there was none yet
   */
  void dropped(String hop, DropReason reason, long messages, String clientId);
}
