package dunlin.harness;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.ECDSASigner;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.function.UnaryOperator;

/** Issues tokens of ES256, and publishes its keys at a URL; the server can be made to fail. */
public final class IdentityProvider implements AutoCloseable {
  private final WebService service = new WebService(this::publish);
  private volatile ECKey key = newKey("key-1");

  private static ECKey newKey(String id) {
    try {
      return new ECKeyGenerator(Curve.P_256).keyID(id).generate();
    } catch (JOSEException e) {
      throw new AssertionError(e);
    }
  }

  /** The URL of its keys. */
  public String url() {
    return service.url("/keys");
  }

  public int requests() {
    return service.requests();
  }

  /** Signs with another key from now on, and publishes only that one. */
  public void rotate(String id) {
    key = newKey(id);
  }

  public void answer(WebService.Answer next) {
    service.answer(next);
  }

  /** Publishes its key again. */
  public void recover() {
    service.answer(this::publish);
  }

  private void publish(HttpExchange exchange) throws IOException {
    WebService.send(exchange, keySet());
  }

  /** Its public keys as a JWK Set. */
  public String keySet() {
    return new JWKSet(key.toPublicJWK()).toString();
  }

  public String token(String user, Duration life) {
    return token(user, life, claims -> claims);
  }

  public String token(String user, Duration life, UnaryOperator<JWTClaimsSet.Builder> more) {
    return signed(key, more.apply(new JWTClaimsSet.Builder().subject(user).audience("mqtt").issueTime(Date.from(Instant.now())).expirationTime(Date.from(Instant.now().plus(life)))).build());
  }

  /** A token that claims to be of this provider, with a key of somebody else. */
  public String forged(String user) {
    return forged(user, key.getKeyID());
  }

  public String forged(String user, String keyId) {
    return signed(newKey(keyId), new JWTClaimsSet.Builder().subject(user).audience("mqtt").expirationTime(Date.from(Instant.now().plusSeconds(60))).build());
  }

  /** Like a valid token, but it names an unknown key; the signature is of the right length. */
  public String naming(String keyId) {
    return signed(key, keyId, new JWTClaimsSet.Builder().subject("u").audience("mqtt").expirationTime(Date.from(Instant.now().plusSeconds(60))).build());
  }

  private static String signed(ECKey key, JWTClaimsSet claims) {
    return signed(key, key.getKeyID(), claims);
  }

  private static String signed(ECKey key, String keyId, JWTClaimsSet claims) {
    try {
      var token = new SignedJWT(new JWSHeader.Builder(JWSAlgorithm.ES256).keyID(keyId).build(), claims);
      token.sign(new ECDSASigner(key));
      return token.serialize();
    } catch (JOSEException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public void close() {
    service.close();
  }
}
