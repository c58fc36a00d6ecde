package dunlin.broker.auth;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.broker.auth.EnhancedAuthenticator.Step;
import dunlin.broker.auth.ScramExchange.User;
import dunlin.broker.password.ScramVerifier;
import dunlin.model.ReasonCode;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.Random;
import javax.crypto.Mac;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The server's side of SCRAM-SHA-256, with the test vector of RFC 7677, section 3, and with all kinds of deviations.
 */
class ScramExchangeTest {
  private static final byte[] SALT = Base64.getDecoder().decode("W22ZaJ0SNY7soEsUEjb6gQ==");
  private static final String CLIENT_NONCE = "rOprNGfwEbeRWgbNEkqO";
  private static final String SERVER_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
  private static final String CLIENT_FIRST = "n,,n=user,r=" + CLIENT_NONCE;
  private static final String SERVER_FIRST =
      "r=" + CLIENT_NONCE + SERVER_NONCE + ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
  private static final String UNPROVEN = "c=biws,r=" + CLIENT_NONCE + SERVER_NONCE;
  private static final String CLIENT_FINAL = UNPROVEN + ",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
  private static final String SERVER_FINAL = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";
  private static final ScramVerifier VERIFIER = ScramVerifier.of(utf8("pencil"), 4_096, SALT);

  private final ScramExchange exchange = exchange();

  private static ScramExchange exchange() {
    return new ScramExchange(name -> new User(Identity.of(name), VERIFIER), SERVER_NONCE);
  }

  @Test
  void theExampleOfRfc7677() {
    assertThat(answer(CLIENT_FIRST)).isEqualTo(SERVER_FIRST);

    assertThat(step(CLIENT_FINAL))
        .isInstanceOfSatisfying(
            Step.Success.class,
            success -> {
              assertThat(text(success.data())).isEqualTo(SERVER_FINAL);
              assertThat(success.identity()).isEqualTo(Identity.of("user"));
            });
  }

  /** "y": the client supports channel binding and assumes that the server does not, which is true. */
  @ParameterizedTest
  @ValueSource(strings = {"n,,", "y,,", "n,a=user,", "y,a=user,"})
  void everyHeaderWithoutChannelBindingIsServed(String header) throws GeneralSecurityException {
    String bare = "n=user,r=" + CLIENT_NONCE;

    assertThat(answer(header + bare)).isEqualTo(SERVER_FIRST);
    assertThat(step(proven(header, bare, "pencil"))).isInstanceOf(Step.Success.class);
  }

  @Test
  void extensionsThatAreNotMandatoryAreSkipped() throws GeneralSecurityException {
    String bare = "n=user,r=" + CLIENT_NONCE + ",x=anything";

    assertThat(answer("n,," + bare)).isEqualTo(SERVER_FIRST);
    assertThat(step(proven("n,,", bare, "pencil"))).isInstanceOf(Step.Success.class);
  }

  @Test
  void aNameMayHaveACommaAndAnEqualsSign() throws GeneralSecurityException {
    String bare = "n=a=2Cb=3D2C,r=" + CLIENT_NONCE;

    answer("n,," + bare);
    assertThat(step(proven("n,,", bare, "pencil")))
        .isInstanceOfSatisfying(Step.Success.class, success -> assertThat(success.identity().user()).isEqualTo("a,b=2C"));
  }

  @Test
  void aWrongPasswordFails() throws GeneralSecurityException {
    answer(CLIENT_FIRST);
    assertFails(proven("n,,", "n=user,r=" + CLIENT_NONCE, "Pencil"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", // nothing
        "n,,n=user", // no nonce
        "n,,r=" + CLIENT_NONCE, // no name
        "n,,r=" + CLIENT_NONCE + ",n=user", // in the wrong order
        "n,,n=,r=" + CLIENT_NONCE, // an empty name
        "n,,n=user,r=", // an empty nonce
        "n,,n=user,r=nonce with blank",
        "n,,n=user,r=nonc\u00E9",
        "n,,n=us=er,r=" + CLIENT_NONCE, // an equals sign that is not escaped
        "n,,n=us=2cer,r=" + CLIENT_NONCE, // escaped in lower case
        "n,,n=us\u0007er,r=" + CLIENT_NONCE, // prohibited by SASLprep
        "n,,m=mandatory,n=user,r=" + CLIENT_NONCE, // an extension that must be known
        "n,,n=user,r=" + CLIENT_NONCE + ",", // an empty extension
        "n,,n=user,r=" + CLIENT_NONCE + ",x", // an extension without a value
        "n,n=user,r=" + CLIENT_NONCE, // half a header
        "n=user,r=" + CLIENT_NONCE, // no header
        "x,,n=user,r=" + CLIENT_NONCE, // no such flag
        "p=tls-unique,,n=user,r=" + CLIENT_NONCE, // channel binding
        "p=,,n=user,r=" + CLIENT_NONCE,
        "n,a=root,n=user,r=" + CLIENT_NONCE, // for another user
        "n,a=,n=user,r=" + CLIENT_NONCE,
        SERVER_FIRST,
        CLIENT_FINAL, // the second message first
      })
  void aFirstMessageThatIsNotInOrderFails(String message) {
    assertFails(message);
    assertFails(CLIENT_FIRST);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        UNPROVEN, // no proof
        UNPROVEN + ",p=", // an empty one
        UNPROVEN + ",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndV", // half a one
        UNPROVEN + ",p=====",
        UNPROVEN + ",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7Andv0=", // another one
        UNPROVEN + ",p=AAAA", // a short one
        "c=biws,r=" + CLIENT_NONCE + ",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=", // the client's nonce alone
        "c=biws,r=" + CLIENT_NONCE + SERVER_NONCE + "x,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        "c=eSws,r=" + CLIENT_NONCE + SERVER_NONCE + ",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=", // header y instead of n
        "c=====,r=" + CLIENT_NONCE + SERVER_NONCE + ",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        "r=" + CLIENT_NONCE + SERVER_NONCE + ",c=biws,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        CLIENT_FINAL + ",x=behind the proof",
        CLIENT_FIRST, // the first message again
      })
  void aFinalMessageThatIsNotInOrderFails(String message) {
    answer(CLIENT_FIRST);

    assertFails(message);
    assertFails(CLIENT_FINAL);
  }

  /** The nonce and the header are also checked separately, not only as a part of the signed text. */
  @Test
  void aProofOverAnotherNonceOrHeaderFails() throws GeneralSecurityException {
    String bare = "n=user,r=" + CLIENT_NONCE;
    answer("n,," + bare);
    assertFails(proven("y,,", bare, "pencil"));

    ScramExchange second = exchange();
    second.next(utf8("n,," + bare)).toCompletableFuture().join();
    String unproven = "c=biws,r=" + CLIENT_NONCE + "another";
    String all = bare + ',' + SERVER_FIRST + ',' + unproven;
    Step step = second.next(utf8(unproven + ",p=" + proof(all, "pencil"))).toCompletableFuture().join();
    assertThat(step).isInstanceOf(Step.Failure.class);
  }

  @Test
  void nothingFollowsASuccess() {
    answer(CLIENT_FIRST);
    assertThat(step(CLIENT_FINAL)).isInstanceOf(Step.Success.class);

    assertFails(CLIENT_FINAL);
  }

  @Test
  void messagesThatAreNotUtf8OrTooLongFail() {
    assertThat(exchange().next(new byte[] {'n', ',', ',', (byte) 0xFF}).toCompletableFuture().join()).isInstanceOf(Step.Failure.class);
    byte[] longest = utf8(CLIENT_FIRST + ",x=" + "y".repeat(4_096));
    assertThat(exchange().next(longest).toCompletableFuture().join()).isInstanceOf(Step.Failure.class);
  }

  /** Many extensions must neither overflow the stack nor take more than linear time. */
  @Test
  void aMessageOfManyExtensionsIsReadToItsEnd() {
    String many = CLIENT_FIRST + ",x=y".repeat(1_000);
    assertThat(exchange().next(utf8(many)).toCompletableFuture().join()).isInstanceOf(Step.Continue.class);
    assertThat(exchange().next(utf8(many + ",")).toCompletableFuture().join()).isInstanceOf(Step.Failure.class);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void noChangedByteIsAccepted(long seed) {
    Random random = new Random(seed);
    for (int i = 0; i < 200; i++) {
      ScramExchange one = exchange();
      byte[] first = utf8(CLIENT_FIRST);
      byte[] last = utf8(CLIENT_FINAL);
      boolean inLast = random.nextBoolean();
      byte[] changed = inLast ? last : first;
      int at = random.nextInt(changed.length);
      changed[at] ^= (byte) (1 + random.nextInt(255));
      // Base64 leaves two bits unused, in the last character of the proof.
      if (inLast && at == last.length - 2) continue;

      Step step = one.next(first).toCompletableFuture().join();
      if (step instanceof Step.Continue) step = one.next(last).toCompletableFuture().join();
      assertThat(step).as("seed %d, try %d, byte %d", seed, i, at).isInstanceOf(Step.Failure.class);
    }
  }

  @Test
  void aVerifierIsReadAsItWasWritten() {
    String text = VERIFIER.text();

    assertThat(text)
        .isEqualTo(
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
                + "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=");
    assertThat(ScramVerifier.parse(text).text()).isEqualTo(text);
    assertThat(ScramVerifier.parse(text).matches(utf8("pencil"))).isTrue();
    assertThat(ScramVerifier.parse(text).matches(utf8("pencil "))).isFalse();
    assertThat(VERIFIER.toString()).doesNotContain("W22Z").doesNotContain("WG5d");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "SCRAM-SHA-1$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
        "SCRAM-SHA-256$4095:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
        "SCRAM-SHA-256$1000001:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
        "SCRAM-SHA-256$4096:W22Z$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ=$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=",
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2d",
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU= ",
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$AAAA8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qYAAAA=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
      })
  void aVerifierThatIsNotOneIsRefusedWithoutQuotingIt(String text) {
    assertThatThrownBy(() -> ScramVerifier.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageNotContainingAny("W22Z", "WG5d", "wfPL");
  }

  private String answer(String message) {
    return step(message) instanceof Step.Continue(var data) ? text(data) : "not continued";
  }

  private Step step(String message) {
    return exchange.next(utf8(message)).toCompletableFuture().join();
  }

  private void assertFails(String message) {
    assertThat(step(message))
        .isInstanceOfSatisfying(
            Step.Failure.class, failure -> assertThat(failure.reason()).isEqualTo(ReasonCode.NOT_AUTHORIZED));
  }

  /** A client's last message, computed by the JDK's own PBKDF2. */
  private static String proven(String header, String bare, String password) throws GeneralSecurityException {
    String unproven =
        "c=" + Base64.getEncoder().encodeToString(utf8(header)) + ",r=" + CLIENT_NONCE + SERVER_NONCE;
    return unproven + ",p=" + proof(bare + ',' + SERVER_FIRST + ',' + unproven, password);
  }

  private static String proof(String messages, String password) throws GeneralSecurityException {
    var factory = SecretKeyFactory.getInstance("PBKDF2WithHmacSHA256");
    byte[] salted = factory.generateSecret(new PBEKeySpec(password.toCharArray(), SALT, 4_096, 256)).getEncoded();
    byte[] clientKey = hmac(salted, "Client Key");
    byte[] signature = hmac(MessageDigest.getInstance("SHA-256").digest(clientKey), messages);
    for (int i = 0; i < clientKey.length; i++) clientKey[i] ^= signature[i];
    return Base64.getEncoder().encodeToString(clientKey);
  }

  private static byte[] hmac(byte[] key, String data) throws GeneralSecurityException {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(key, "HmacSHA256"));
    return mac.doFinal(utf8(data));
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
