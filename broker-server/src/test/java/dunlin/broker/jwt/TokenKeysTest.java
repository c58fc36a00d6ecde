package dunlin.broker.jwt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which keys are taken from files, and what is said of those that are not. */
class TokenKeysTest {
  private static final Set<TokenAlgorithm> ALL = EnumSet.allOf(TokenAlgorithm.class);
  private static final Issuer RSA = Issuer.of("RS256");

  private static void refused(String file, Set<TokenAlgorithm> allowed, String why) {
    assertThatThrownBy(() -> TokenKeys.ofFile(file, allowed)).isInstanceOf(TokenKeys.MalformedException.class).hasMessageContaining(why);
  }

  @ParameterizedTest
  @CsvSource({"HS256,32", "HS384,48", "HS512,64"})
  void aSecretIsAsLongAsItsHash(TokenAlgorithm algorithm, int bytes) {
    byte[] secret = new byte[bytes];
    Arrays.fill(secret, (byte) 'x');
    assertThat(TokenKeys.ofSecret(secret, Set.of(algorithm)).size()).isEqualTo(1);
    byte[] withLineEnd = Arrays.copyOf(secret, bytes + 1);
    withLineEnd[bytes - 1] = '\r';
    withLineEnd[bytes] = '\n';
    assertThatThrownBy(() -> TokenKeys.ofSecret(withLineEnd, Set.of(algorithm)))
        .hasMessage("a secret of %d bytes; %s needs %d at least", bytes - 1, algorithm.label(), bytes);
  }

  @Test
  void severalKeysInOneFile() {
    String pem = "# for people\n" + RSA.pem() + Issuer.of("ES256").pem() + Issuer.of("EdDSA").pem();
    assertThat(TokenKeys.ofFile(pem, ALL).size()).isEqualTo(3);
    assertThat(TokenKeys.ofFile(pem, Set.of(TokenAlgorithm.ES256)).size()).as("only those of the allowed algorithms").isEqualTo(1);
  }

  @Test
  void whatIsNoPublicKeyIsRefused() {
    refused("", ALL, "neither a key in PEM nor a JWK Set");
    refused("garbage", ALL, "neither a key in PEM nor a JWK Set");
    refused(RSA.privatePem(), ALL, "part 1 is a private key");
    refused(RSA.pem() + "-----BEGIN RSA PRIVATE KEY-----\nAA==\n-----END RSA PRIVATE KEY-----\n", ALL, "part 2 is a private key");
    refused("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", ALL, "part 1 is no public key");
    refused("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", ALL, "part 1 is no public key");
    refused("-----BEGIN NOTHING-----\nAAAA\n-----END NOTHING-----\n", ALL, "neither PUBLIC KEY nor CERTIFICATE");
    refused(Issuer.of("RS256", 1_024).pem(), ALL, "an RSA key of 1024 bits");
    refused(RSA.pem(), Set.of(TokenAlgorithm.ES256), "no key for es256");
  }

  @ParameterizedTest
  @ValueSource(strings = {"{", "{}", "{\"keys\":1}", "{\"keys\":[1]}", "{\"keys\":[{}]}", "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQ\"}]}", "{\"keys\":[]} x"})
  void whatIsNoKeySetIsRefused(String json) {
    assertThatThrownBy(() -> TokenKeys.ofJwkSet(json, ALL)).isInstanceOf(TokenKeys.MalformedException.class);
  }

  @Test
  void keysThatSignNoTokensAreLeftOut() {
    String secret = "{\"kty\":\"oct\",\"k\":\"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY\",\"kid\":\"secret\"}";
    String others =
        String.join(
            ",", secret, RSA.jwk("encrypts", "\"use\":\"enc\""), RSA.jwk("wraps", "\"key_ops\":[\"wrapKey\"]"), Issuer.of("RS256", 1_024).jwk("short"),
            "{\"kty\":\"new\",\"kid\":\"of tomorrow\"}", "{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"3p7bfXt9wbTTW2HC7OQ1Nz-DQ8hbeGdNrfx-FG-IK08\"}");
    assertThat(TokenKeys.ofJwkSet(Issuer.set(others, RSA.jwk("signs", "\"use\":\"sig\"")), ALL).all()).singleElement().extracting(TokenKey::id).isEqualTo("signs");
    refused(Issuer.set(others), ALL, "it has no key for");
  }

  @Test
  void aPrivateKeyInASetAndTooManyKeysAreRefused() {
    refused(Issuer.set(RSA.jwk("one", "\"d\":\"AQAB\"")), ALL, "it");
    String[] many = new String[TokenKeys.KEYS_MAX + 1];
    Arrays.fill(many, RSA.jwk("same"));
    refused(Issuer.set(many), ALL, "it has 101 keys, more than 100");
    assertThat(TokenKeys.ofJwkSet(Issuer.set(Arrays.copyOf(many, 100)), ALL).size()).isEqualTo(100);
  }
}
