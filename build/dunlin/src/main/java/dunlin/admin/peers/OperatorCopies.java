package dunlin.admin.peers;

import java.util.List;

/** The operators of a node, as other nodes of its cluster copy them. It is no MXBean, because it has the verifiers of passwords. */
public interface OperatorCopies {
  /**
   * An operator, or one that was deleted.
   *
   * @param role viewer, operator or admin; empty for one that was deleted
   * @param verifier of the password, as text; empty as well
   * @param version of the change; of two with one name the higher one counts, and with the same version the one whose verifier sorts behind the other
   */
  record OperatorCopy(String name, String role, String verifier, long version) {}

  /** All of them, unless they have this digest. */
  List<OperatorCopy> unless(String digest);

  /** A number of all of them: nodes with the same operators have the same. */
  String digest();

  /**
   * Takes those that are newer than what is here. Those that no node can have made are left out.
   *
   * @param node that has them
   * @return how many were taken
   */
  int take(String node, List<OperatorCopy> copies);
}
