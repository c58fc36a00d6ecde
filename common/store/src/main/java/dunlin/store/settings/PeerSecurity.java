package dunlin.store.settings;

import dunlin.runtime.Secret;
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
   * @param own the node's key and certificate
   * @param authority certificates of the authorities that nodes' certificates come from, PEM
   */
  record MutualTls(Own own, Path authority) implements PeerSecurity {
    /** With PEM files, and a key without password. */
    public MutualTls(Path key, Path certificates, Path authority) {
      this(new Pem(key, Secret.none(), certificates), authority);
    }
  }

  /** Where a node has its key and its certificate. */
  sealed interface Own {}

  /**
   * Two files in PEM.
   *
   * @param key private key
   * @param password of an encrypted key; empty for none
   * @param certificates the node's certificate and the chain to the authority
   */
  record Pem(Path key, Secret password, Path certificates) implements Own {}

  /**
   * A key store in PKCS#12 with one key.
   *
   * @param password of the store and its key; empty for none
   */
  record Store(Path file, Secret password) implements Own {}
}
