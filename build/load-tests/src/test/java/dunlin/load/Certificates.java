package dunlin.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.concurrent.TimeUnit;

/** A self-signed certificate for this host, which is its own authority; made by the JDK's keytool. */
public record Certificates(Path certificate, Path key) {
  private static final char[] PASSWORD = "secret".toCharArray();

  /** @param name the name of the subject and, with an extension, of the files */
  public static Certificates make(Path directory, String name) throws Exception {
    Path store = directory.resolve(name + ".p12");
    Process tool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(), "-genkeypair", "-alias", "k", "-keyalg", "EC", "-dname", "CN=" + name, "-ext", "SAN=ip:127.0.0.1",
                "-ext", "BC=ca:true", "-storetype", "PKCS12", "-keystore", store.toString(), "-storepass", new String(PASSWORD), "-J-XX:TieredStopAtLevel=1",
                "-J-XX:+UseSerialGC")
            .redirectErrorStream(true)
            .start();
    assertThat(tool.waitFor(120, TimeUnit.SECONDS)).isTrue();
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, PASSWORD);
    }
    return new Certificates(
        pem(directory.resolve(name + "-cert.pem"), "CERTIFICATE", keys.getCertificate("k").getEncoded()),
        pem(directory.resolve(name + "-key.pem"), "PRIVATE KEY", keys.getKey("k", PASSWORD).getEncoded()));
  }

  private static Path pem(Path file, String kind, byte[] bytes) throws Exception {
    return Files.writeString(file, "-----BEGIN %s-----%n%s%n-----END %s-----%n".formatted(kind, Base64.getMimeEncoder().encodeToString(bytes), kind));
  }
}
