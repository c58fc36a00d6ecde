package dunlin.cluster;

import dunlin.cluster.call.ClusterAnswer;
import dunlin.cluster.call.ClusterAnswer.CutIs;
import dunlin.cluster.call.ClusterAnswer.ProgressIs;
import dunlin.cluster.call.ClusterAnswer.Refused;
import dunlin.cluster.call.ClusterCall.AskProgress;
import dunlin.cluster.call.ClusterCall.FindCut;
import dunlin.placement.Progress;
import dunlin.store.StoreException;
import java.io.IOException;
import java.time.Duration;
import java.util.Collections;
import java.util.NavigableMap;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What an operator wants to know of the cluster and only another node may know. */
final class OperatorQuestions {
  /*
   * Owner: any thread that may block.
   * Bounds: one call for each question, or one for each address that may lead the meta group.
   * Failure: the progress of operations is unknown while no leader of the meta group answers, and with one of an earlier release. A cut that is not found is a
   * refusal with the reason.
   */
  private static final Logger log = LoggerFactory.getLogger(OperatorQuestions.class);
  private static final Duration PROGRESS_DEADLINE = Duration.ofSeconds(2);
  private static final Duration CUT_DEADLINE = Duration.ofSeconds(10);

  private final KnownMap known;
  private final MetaClient meta;

  OperatorQuestions(KnownMap known, MetaClient meta) {
    this.known = known;
    this.meta = meta;
  }

  /** How far each operation has come, as the meta group's leader sees it; empty when it does not say. */
  NavigableMap<UUID, Progress> progress() {
    if (known.map().intents().isEmpty()) return Collections.emptyNavigableMap();
    try {
      if (meta.ask(new AskProgress(), PROGRESS_DEADLINE) instanceof ProgressIs(var operations)) return operations;
    } catch (IOException e) {
      log.debug("No leader of the meta group has said how far operations have come: {}", e.getMessage());
    }
    return Collections.emptyNavigableMap();
  }

  /**
   * A key at which a range can be split, as its leader has found it now.
   *
   * @throws StoreException when there is none, or the leader does not answer
   */
  byte[] cut(UUID range, UUID leader) {
    var address = known.service(leader).orElseThrow(() -> new StoreException("it is not known where node " + leader + " is, which leads range " + range));
    try {
      return switch (meta.call(address, new FindCut(range), CUT_DEADLINE)) {
        case CutIs(var key) -> key;
        case Refused(var sentence) -> throw new StoreException("no cut was found: " + sentence);
        case ClusterAnswer other -> throw new StoreException("no cut was found: answered by " + other);
      };
    } catch (IOException e) {
      throw new StoreException("node " + leader + ", which leads range " + range + ", has not said where it can be split: " + e.getMessage(), e);
    }
  }
}
