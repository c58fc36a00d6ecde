package dunlin.broker.http;

import com.nimbusds.jose.util.JSONObjectUtils;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What the service is asked about: a client as its CONNECT and its connection show it.
 *
 * @param source number of its address, for turns
 * @param version 3, 4 or 5
 * @param clientId empty if the server has to choose one
 * @param address without port
 * @param serverName the name by which the client has called the server in its TLS handshake; empty without one
 * @param certificate texts of the client's certificate by their names, such as {@code cert.cn}; empty without one
 */
public record HttpQuestion(
    long source,
    int version,
    String clientId,
    Optional<String> userName,
    Optional<byte[]> password,
    String address,
    String listener,
    boolean encrypted,
    Optional<String> serverName,
    Map<String, String> certificate) {
  public HttpQuestion {
    certificate = Map.copyOf(certificate);
  }

  /** The JSON object that is sent. A password that is not UTF-8 is there as Base64, under another name. */
  byte[] body() {
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("version", version);
    members.put("clientId", clientId);
    userName.ifPresent(name -> members.put("userName", name));
    password.ifPresent(bytes -> text(bytes).ifPresentOrElse(text -> members.put("password", text), () -> members.put("passwordBase64", Base64.getEncoder().encodeToString(bytes))));
    members.put("address", address);
    members.put("listener", listener);
    members.put("encrypted", encrypted);
    serverName.ifPresent(name -> members.put("serverName", name));
    if (!certificate.isEmpty()) members.put("certificate", certificate);
    return JSONObjectUtils.toJSONString(members).getBytes(StandardCharsets.UTF_8);
  }

  private static Optional<String> text(byte[] bytes) {
    try {
      return Optional.of(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
    } catch (CharacterCodingException _) {
      return Optional.empty();
    }
  }

  /** Without the password. */
  @Override
  public String toString() {
    return "HttpQuestion[clientId=" + clientId + ", userName=" + userName + ", address=" + address + ']';
  }
}
