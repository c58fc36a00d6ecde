package dunlin.cluster.call;

import dunlin.placement.ClusterMap;
import dunlin.placement.PlacementResult;
import dunlin.placement.Progress;
import dunlin.placement.RangeAdmin;
import java.util.NavigableMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** How another node answers a {@link ClusterCall}. */
public sealed interface ClusterAnswer {
  /** @param cluster null for a node that belongs to none yet */
  record HelloIs(UUID node, @Nullable UUID cluster) implements ClusterAnswer {}

  /** The node fits into the cluster, as far as this one knows. */
  record Fit() implements ClusterAnswer {}

  /** The node must not start as it is. */
  record Unfit(String sentence) implements ClusterAnswer {}

  record Proposed(PlacementResult result) implements ClusterAnswer {}

  /**
   * @param leadership the term in which the answering node leads the meta group
   * @param leaders for each range the node that leads it, as far as it has reported so in this term
   */
  record Heard(long leadership, ClusterMap.Update update, NavigableMap<UUID, UUID> leaders) implements ClusterAnswer {}

  record Changed(ClusterMap.Update update) implements ClusterAnswer {}

  record CarriedOut(RangeAdmin.Outcome outcome) implements ClusterAnswer {}

  record ProgressIs(NavigableMap<UUID, Progress> operations) implements ClusterAnswer {}

  record CutIs(byte[] key) implements ClusterAnswer {}

  /** Another node leads the meta group. */
  record NotLeading(@Nullable NodeAddress leader) implements ClusterAnswer {}

  /** Nothing was done. */
  record Refused(String sentence) implements ClusterAnswer {}

  /** It may have been done, or may still be. */
  record Unknown(String sentence) implements ClusterAnswer {}
}
