package dunlin.store.settings;

import java.nio.file.Path;

/** How the nodes of a cluster authenticate each other on the cluster port. */
public sealed interface PeerSecurity {
  /**
   * No authentication: every peer that reaches the port counts as a node.
   *
   * @param beyondLoopback whether that is allowed on an address that other machines reach
   */
  record Plaintext(boolean beyondLoopback) implements PeerSecurity {}

  /**
   * TLS with certificates on both sides, which must name the host by which the others reach the node.
   *
   * @param key private key, PKCS#8 in PEM
   * @param certificates the node's certificate and the chain to the authority, PEM
   * @param authority certificates of the authorities that nodes' certificates come from, PEM
   */
  record MutualTls(Path key, Path certificates, Path authority) implements PeerSecurity {}
}
