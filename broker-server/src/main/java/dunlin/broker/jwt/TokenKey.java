package dunlin.broker.jwt;

import com.nimbusds.jose.JWSVerifier;

/**
 * One key that tokens may be signed with.
 *
 * @param id its {@code kid}; empty if it has none
 * @param algorithm the only algorithm that it is made for; empty for all that its type and length allow
 * @param verifier by its type, so that a public key never serves as a secret
 */
record TokenKey(String id, String algorithm, JWSVerifier verifier) {
  boolean fits(TokenAlgorithm asked) {
    return verifier.supportedJWSAlgorithms().contains(asked.jose()) && (algorithm.isEmpty() || asked.isNamed(algorithm));
  }
}
