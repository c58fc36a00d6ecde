package dunlin.broker.jwt;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.jwt.JwtSettings.Demands;
import dunlin.broker.jwt.JwtSettings.Keys;
import dunlin.broker.jwt.JwtSettings.Meaning;
import dunlin.broker.jwt.JwtSettings.TokenField;
import dunlin.broker.jwt.TokenVerdict.Accepted;
import dunlin.broker.jwt.TokenVerdict.Reason;
import dunlin.broker.jwt.TokenVerdict.Refused;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which tokens are accepted, what they say, and as what all others are refused. */
class TokenCheckerTest {
  private static final long NOW = 1_800_000_000;
  private static final int SKEW = 30;
  private static final byte[] SECRET = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef".getBytes(StandardCharsets.US_ASCII);
  private static final Issuer RSA = Issuer.of("RS256");
  private static final String GOOD = "{\"sub\":\"alice\",\"exp\":%d}".formatted(NOW + 60);
  private static final Demands NO_DEMANDS = new Demands("", List.of(), Duration.ofSeconds(SKEW), List.of());
  private static final Meaning NO_MORE = new Meaning("sub", false, "", "", "", List.of());

  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final KeyRing keys = new KeyRing(null);

  private TokenChecker checker(Set<TokenAlgorithm> algorithms, Demands demands, Meaning meaning) {
    var sources = new Keys(algorithms, "", "", "", Duration.ofMinutes(5), Duration.ofSeconds(30), Duration.ofSeconds(5));
    return new TokenChecker(
        new JwtSettings(sources, TokenField.PASSWORD, 8_192, demands, meaning), keys, InstantSource.fixed(Instant.ofEpochSecond(NOW)), meters);
  }

  private TokenChecker checker(TokenAlgorithm... algorithms) {
    return checker(Set.of(algorithms), NO_DEMANDS, NO_MORE);
  }

  /** A checker that knows the key of RSA. */
  private TokenChecker ofRsa(Demands demands, Meaning meaning) {
    keys.file(TokenKeys.ofFile(RSA.pem(), Set.of(TokenAlgorithm.RS256)));
    return checker(Set.of(TokenAlgorithm.RS256), demands, meaning);
  }

  private TokenChecker ofRsa() {
    return ofRsa(NO_DEMANDS, NO_MORE);
  }

  private static TokenVerdict check(TokenChecker checker, String token) {
    return checker.check(token.getBytes(StandardCharsets.UTF_8));
  }

  private static Accepted accepted(TokenChecker checker, String token) {
    TokenVerdict verdict = check(checker, token);
    assertThat(verdict).isInstanceOf(Accepted.class);
    return (Accepted) verdict;
  }

  private static Reason refused(TokenChecker checker, String token) {
    TokenVerdict verdict = check(checker, token);
    assertThat(verdict).isInstanceOf(Refused.class);
    return ((Refused) verdict).reason();
  }

  @ParameterizedTest
  @ValueSource(strings = {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
  void aTokenOfEachAlgorithmIsAcceptedWithItsKeyInPemAndAsJwk(String name) {
    TokenAlgorithm algorithm = TokenAlgorithm.named(name).orElseThrow();
    Issuer issuer = Issuer.of(name);
    for (String file : new String[] {issuer.pem(), Issuer.set(issuer.jwk("one"))}) {
      keys.file(TokenKeys.ofFile(file, Set.of(algorithm)));
      assertThat(accepted(checker(algorithm), issuer.token(GOOD))).isEqualTo(new Accepted("alice", "", List.of(), Instant.ofEpochSecond(NOW + 60 + SKEW), Map.of(), List.of()));
      assertThat(refused(checker(algorithm), Issuer.of(name).token(GOOD))).isEqualTo(Reason.SIGNATURE);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"HS256", "HS384", "HS512"})
  void aTokenOfASecretIsAccepted(String name) {
    TokenAlgorithm algorithm = TokenAlgorithm.named(name).orElseThrow();
    keys.secret(TokenKeys.ofSecret(SECRET, Set.of(algorithm)));
    accepted(checker(algorithm), Issuer.withSecret(name, SECRET, GOOD));
    assertThat(refused(checker(algorithm), Issuer.withSecret(name, new byte[64], GOOD))).isEqualTo(Reason.SIGNATURE);
  }

  @Test
  void anotherNameOfEdDsaIsTheSame() {
    Issuer issuer = Issuer.of("EdDSA");
    keys.file(TokenKeys.ofFile(issuer.pem(), Set.of(TokenAlgorithm.EDDSA)));
    accepted(checker(TokenAlgorithm.EDDSA), issuer.signed("{\"alg\":\"Ed25519\"}", GOOD));
  }

  // ---------------------------------------------------------------------------------------------------------- algorithms and keys

  @ParameterizedTest
  @ValueSource(strings = {"none", "None", "NONE", "HS256", "RS512", "ES256", "rs256", "RSA-OAEP", "dir", ""})
  void anAlgorithmThatIsNotAllowedIsRefused(String name) {
    assertThat(refused(ofRsa(), RSA.signed("{\"alg\":\"%s\"}".formatted(name), GOOD))).isEqualTo(Reason.ALGORITHM);
    String unsigned = Issuer.encoded("{\"alg\":\"%s\"}".formatted(name)) + '.' + Issuer.encoded(GOOD) + '.';
    assertThat(refused(ofRsa(), unsigned)).isEqualTo(Reason.ALGORITHM);
  }

  @ParameterizedTest
  @ValueSource(strings = {"{\"typ\":\"JWT\"}", "{\"alg\":null}", "{\"alg\":[\"RS256\"]}", "{\"alg\":1}"})
  void aHeaderWithoutAnAlgorithmIsRefused(String header) {
    assertThat(refused(ofRsa(), RSA.signed(header, GOOD))).isEqualTo(Reason.ALGORITHM);
  }

  /** The public key is no secret, so a token that is "signed" with it as one must not be accepted even where both kinds are allowed. */
  @Test
  void aPublicKeyIsNeverASecret() {
    var both = EnumSet.of(TokenAlgorithm.RS256, TokenAlgorithm.HS256);
    keys.file(TokenKeys.ofFile(RSA.pem(), both));
    TokenChecker withoutSecret = checker(both, NO_DEMANDS, NO_MORE);
    for (byte[] known : new byte[][] {RSA.pem().getBytes(StandardCharsets.US_ASCII), RSA.pem().strip().getBytes(StandardCharsets.US_ASCII), RSA.keys().getPublic().getEncoded()}) {
      String forged = Issuer.withSecret("HS256", known, GOOD);
      assertThat(refused(withoutSecret, forged)).isEqualTo(Reason.KEY_UNKNOWN);
      keys.secret(TokenKeys.ofSecret(SECRET, Set.of(TokenAlgorithm.HS256)));
      assertThat(refused(withoutSecret, forged)).isEqualTo(Reason.SIGNATURE);
      keys.secret(TokenKeys.NONE);
    }
    accepted(withoutSecret, RSA.token(GOOD));
  }

  @Test
  void aKeyServesOnlyTheAlgorithmAndTheCurveThatItIsFor() {
    keys.file(TokenKeys.ofFile(Issuer.set(RSA.jwk("one", "\"alg\":\"PS256\"")), EnumSet.allOf(TokenAlgorithm.class)));
    assertThat(refused(checker(TokenAlgorithm.RS256, TokenAlgorithm.PS256), RSA.token("one", GOOD))).isEqualTo(Reason.KEY_UNKNOWN);
    Issuer p384 = Issuer.of("ES384");
    keys.file(TokenKeys.ofFile(p384.pem(), EnumSet.allOf(TokenAlgorithm.class)));
    assertThat(refused(checker(TokenAlgorithm.ES256, TokenAlgorithm.ES384), p384.signed("{\"alg\":\"ES256\"}", GOOD))).isEqualTo(Reason.KEY_UNKNOWN);
  }

  /** Of where a key might come from, a header says nothing that is listened to. */
  @Test
  void aTokenBringsNoKey() {
    Issuer stranger = Issuer.of("RS256");
    String jwk = stranger.jwk("one");
    for (String header :
        new String[] {
          "{\"alg\":\"RS256\",\"jwk\":%s}".formatted(jwk), "{\"alg\":\"RS256\",\"jku\":\"http://127.0.0.1:1/\"}", "{\"alg\":\"RS256\",\"x5u\":\"http://127.0.0.1:1/\"}"
        }) {
      assertThat(refused(ofRsa(), stranger.signed(header, GOOD))).isEqualTo(Reason.SIGNATURE);
    }
  }

  @Test
  void aTokenChoosesAmongKeysByName() {
    Issuer other = Issuer.of("RS256");
    keys.file(TokenKeys.ofFile(Issuer.set(RSA.jwk("one"), other.jwk("two")), Set.of(TokenAlgorithm.RS256)));
    TokenChecker checker = checker(TokenAlgorithm.RS256);
    accepted(checker, RSA.token("one", GOOD));
    accepted(checker, other.token("two", GOOD));
    accepted(checker, other.token(GOOD));
    assertThat(refused(checker, RSA.token("two", GOOD))).isEqualTo(Reason.SIGNATURE);
    assertThat(refused(checker, RSA.token("three", GOOD))).isEqualTo(Reason.KEY_UNKNOWN);
    assertThat(refused(checker, RSA.signed("{\"alg\":\"RS256\",\"kid\":{}}", GOOD))).isEqualTo(Reason.MALFORMED);
    accepted(ofRsa(), RSA.token("a name that PEM does not have", GOOD));
  }

  /** What a token costs does not grow with the keys that there are. */
  @Test
  void aTokenWithoutANameIsNotTriedWithManyKeys() {
    String[] many = new String[KeyRing.CANDIDATES_MAX + 1];
    for (int i = 0; i < many.length; i++) many[i] = RSA.jwk("key" + i);
    keys.file(TokenKeys.ofFile(Issuer.set(many), Set.of(TokenAlgorithm.RS256)));
    assertThat(refused(checker(TokenAlgorithm.RS256), RSA.token(GOOD))).isEqualTo(Reason.KEY_UNKNOWN);
    accepted(checker(TokenAlgorithm.RS256), RSA.token("key3", GOOD));
  }

  // ------------------------------------------------------------------------------------------------------------------------- form

  @ParameterizedTest
  @ValueSource(strings = {"", "e", "ey", "ey.", "ey..", "eyJ.eyJ", "eyJ.eyJ.eyJ.eyJ", "eyJ.eyJ.a b", "eyJ.eyJ.\u00E4", "..", "password", "eyJhbGciOiJSUzI1NiJ9.e30=.AA"})
  void whatHasNotTheFormOfATokenIsMalformed(String text) {
    assertThat(refused(ofRsa(), text)).isEqualTo(Reason.MALFORMED);
  }

  @Test
  void headersAndClaimsThatAreNoObjectsAreRefused() {
    for (String header : new String[] {"{", "{\"alg\":\"RS256\"", "{\"alg\":\"RS256\",\"alg\":\"none\"}", "{\"a\":".repeat(900)}) {
      assertThat(refused(ofRsa(), RSA.signed(header, GOOD))).as(header).isEqualTo(Reason.MALFORMED);
    }
    for (String claims : new String[] {"", "[]", "1", "\"alice\"", "null", "{", "{\"sub\":\"alice\",\"sub\":\"bob\",\"exp\":9999999999}", "{\"a\":".repeat(900)}) {
      assertThat(refused(ofRsa(), RSA.token(claims))).as(claims).isIn(Reason.MALFORMED, Reason.CLAIMS);
    }
  }

  /** RFC 7515, section 4.1.11. */
  @Test
  void anExtensionThatMustBeUnderstoodIsNot() {
    assertThat(refused(ofRsa(), RSA.signed("{\"alg\":\"RS256\",\"crit\":[\"b64\"],\"b64\":false}", GOOD))).isEqualTo(Reason.MALFORMED);
    assertThat(refused(ofRsa(), RSA.signed("{\"alg\":\"RS256\",\"crit\":[\"x\"],\"x\":1}", GOOD))).isEqualTo(Reason.MALFORMED);
  }

  @Test
  void eachChangedByteMakesTheSignatureWrong() {
    TokenChecker checker = ofRsa();
    String token = RSA.token(GOOD);
    int from = token.indexOf('.') + 1;
    for (int i = from; i < token.lastIndexOf('.'); i++) {
      String changed = token.substring(0, i) + (token.charAt(i) == 'A' ? 'B' : 'A') + token.substring(i + 1);
      assertThat(refused(checker, changed)).as("at %d", i).isEqualTo(Reason.SIGNATURE);
    }
    assertThat(refused(checker, token.substring(0, token.lastIndexOf('.') + 1))).isEqualTo(Reason.SIGNATURE);
    assertThat(refused(checker, token + "AAAA")).isEqualTo(Reason.SIGNATURE);
  }

  @Test
  void aHugeTokenIsRefusedByItsSize() {
    String huge = "eyJ" + "a".repeat(1_000_000) + ".a.a";
    assertThat(refused(ofRsa(), huge)).isEqualTo(Reason.TOO_LONG);
    assertThat(ofRsa().looksLikeToken(huge.getBytes(StandardCharsets.US_ASCII))).isTrue();
  }

  @ParameterizedTest
  @CsvSource({"eyJhbGciOiJub25lIn0.e30.,true", "eyJ.a.b.c.d,true", "ewoi.a.b,true", "eyJ.a,false", "eyJ.a.b!,false", "secret,false", "xyJ.a.b,false", "'ey J.a.b',false"})
  void aTokenIsToldFromAPasswordByItsForm(String text, boolean token) {
    assertThat(ofRsa().looksLikeToken(text.getBytes(StandardCharsets.UTF_8))).isEqualTo(token);
  }

  // ------------------------------------------------------------------------------------------------------------------------ claims

  @Test
  void timesAreKeptWithinTheClockSkew() {
    TokenChecker checker = ofRsa();
    assertThat(refused(checker, RSA.token("{\"sub\":\"a\",\"exp\":%d}".formatted(NOW - SKEW)))).isEqualTo(Reason.EXPIRED);
    accepted(checker, RSA.token("{\"sub\":\"a\",\"exp\":%d}".formatted(NOW - SKEW + 1)));
    assertThat(refused(checker, RSA.token("{\"sub\":\"a\",\"exp\":%d,\"nbf\":%d}".formatted(NOW + 99, NOW + SKEW + 1)))).isEqualTo(Reason.NOT_YET_VALID);
    accepted(checker, RSA.token("{\"sub\":\"a\",\"exp\":%d,\"nbf\":%d}".formatted(NOW + 99, NOW + SKEW)));
    assertThat(refused(checker, RSA.token("{\"sub\":\"a\",\"exp\":%d,\"iat\":%d}".formatted(NOW + 99, NOW + SKEW + 1)))).isEqualTo(Reason.NOT_YET_VALID);
    accepted(checker, RSA.token("{\"sub\":\"a\",\"exp\":%d,\"iat\":%d.5}".formatted(NOW + 99, NOW)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"-1", "1e300", "9223372036854775807", "253402300800", "\"1900000000\"", "null", "true", "[1900000000]", "{}"})
  void anEndThatIsNoTimeIsRefused(String exp) {
    assertThat(refused(ofRsa(), RSA.token("{\"sub\":\"a\",\"exp\":%s}".formatted(exp)))).isEqualTo(Reason.CLAIMS);
  }

  @Test
  void theClaimsThatAreDemandedMustBeThere() {
    var demands = new Demands("https://id", List.of("mqtt", "dunlin"), Duration.ZERO, List.of("jti", "scope=connect"));
    TokenChecker checker = ofRsa(demands, NO_MORE);
    String all = "{\"sub\":\"a\",\"exp\":%d,\"iss\":\"https://id\",\"aud\":[\"web\",\"mqtt\"],\"jti\":\"1\",\"scope\":[\"read\",\"connect\"]}".formatted(NOW + 9);
    accepted(checker, RSA.token(all));
    accepted(checker, RSA.token(all.replace("[\"web\",\"mqtt\"]", "\"dunlin\"")));
    assertThat(refused(checker, RSA.token(all.replace("https://id", "https://id/")))).isEqualTo(Reason.NOT_FOR_US);
    assertThat(refused(checker, RSA.token(all.replace("\"iss\"", "\"x\"")))).isEqualTo(Reason.NOT_FOR_US);
    assertThat(refused(checker, RSA.token(all.replace("\"mqtt\"", "\"mqtt2\"")))).isEqualTo(Reason.NOT_FOR_US);
    assertThat(refused(checker, RSA.token(all.replace("\"aud\"", "\"x\"")))).isEqualTo(Reason.NOT_FOR_US);
    assertThat(refused(checker, RSA.token(all.replace("[\"web\",\"mqtt\"]", "7")))).isEqualTo(Reason.CLAIMS);
    assertThat(refused(checker, RSA.token(all.replace("\"jti\"", "\"x\"")))).isEqualTo(Reason.CLAIMS);
    assertThat(refused(checker, RSA.token(all.replace("connect", "connected")))).isEqualTo(Reason.CLAIMS);
    assertThat(refused(checker, RSA.token("{\"sub\":\"a\"}"))).isEqualTo(Reason.CLAIMS);
  }

  @Test
  void aTokenSaysWhoItsClientIs() {
    TokenChecker checker = ofRsa(NO_DEMANDS, new Meaning("name", false, "org", "device", "acl", List.of("site", "floor", "list", "absent")));
    String all =
        "{\"name\":\"+/#\",\"org\":\"acme\",\"device\":[\"d1\",\"d2\"],\"site\":\"north\",\"floor\":3,\"list\":[1],\"acl\":[\"allow publish up/%%c\",\"deny all #\"],\"exp\":%d}"
            .formatted(NOW + 9);
    Accepted accepted = accepted(checker, RSA.token(all));
    assertThat(accepted.user()).isEqualTo("+/#");
    assertThat(accepted.tenant()).isEqualTo("acme");
    assertThat(accepted.clientIds()).containsExactly("d1", "d2");
    assertThat(accepted.attributes()).containsOnly(Map.entry("site", "north"), Map.entry("floor", "3"));
    assertThat(accepted.rules()).hasSize(2);
    for (String name : new String[] {"name", "org", "device"}) {
      assertThat(refused(checker, RSA.token(all.replace('"' + name + '"', "\"x\"")))).as(name).isEqualTo(Reason.CLAIMS);
    }
    assertThat(refused(checker, RSA.token(all.replace("[\"d1\",\"d2\"]", "[]")))).as("no identifier is not any identifier").isEqualTo(Reason.CLAIMS);
    assertThat(refused(checker, RSA.token(all.replace("\"acme\"", "\"\"")))).isEqualTo(Reason.CLAIMS);
  }

  /** A rule that cannot be read may be one that denies. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"allow all #\"", "{}", "[1]", "[\"allow all #\",null]", "[\"allow everyone all #\"]", "[\"permit all #\"]", "[\"allow all a/#/b\"]", "[\"allow all a/%x\"]",
        "[\"allow all a/b%c\"]", "[\"\"]", "[\"allow all a\\nallow all #\"]"
      })
  void rulesThatCannotBeReadRefuseTheToken(String acl) {
    TokenChecker checker = ofRsa(NO_DEMANDS, new Meaning("sub", false, "", "", "acl", List.of()));
    assertThat(refused(checker, RSA.token("{\"sub\":\"a\",\"exp\":%d,\"acl\":%s}".formatted(NOW + 9, acl)))).isEqualTo(Reason.CLAIMS);
  }

  @Test
  void eachVerdictIsCounted() {
    TokenChecker checker = ofRsa();
    accepted(checker, RSA.token(GOOD));
    refused(checker, "x");
    refused(checker, "y");
    assertThat(meters.get("dunlin.auth.jwt.tokens").tag("result", "accepted").counter().count()).isEqualTo(1);
    assertThat(meters.get("dunlin.auth.jwt.tokens").tag("result", "malformed").counter().count()).isEqualTo(2);
  }
}
