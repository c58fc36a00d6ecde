package dunlin.store.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CertificateNamesTest {
  private static final UUID NODE = UUID.fromString("0a0b0c0d-1111-4222-8333-444455556666");
  private static final UUID OTHER = new UUID(1, 2);

  @TempDir Path directory;

  @Test
  void aCertificateStandsForItsAlternativeNamesOnly() throws Exception {
    var authority = new TestAuthority(directory, "ours");
    var names = names(authority.issue("node-3.example", "dns:Node-1.Dunlin.svc,dns:*.nodes.svc,ip:10.0.0.1,ip:fd00::1,email:a@node-4.example"));

    for (String own : new String[] {"node-1.dunlin.svc", "NODE-1.dunlin.svc.", "any.nodes.svc", "10.0.0.1", "fd00::1", "fd00:0:0:0:0:0:0:1"})
      assertThat(names.belongTo(NODE, own)).as(own).isTrue();
    for (String strange :
        new String[] {
          "node-2.dunlin.svc", "node-1.dunlin", "nodes.svc", ".nodes.svc", "a.b.nodes.svc", "*.nodes.svc.cluster", "10.0.0.2", "fd00::2",
          "node-3.example", "node-4.example", "", "*"
        }) assertThat(names.belongTo(NODE, strange)).as(strange).isFalse();
    assertThat(names.belongTo(NODE, null)).isFalse();
  }

  @Test
  void aCertificateMayNameTheNodeById() throws Exception {
    var authority = new TestAuthority(directory, "ours");
    for (var names : Set.of(names(authority.issue("by-dns", "dns:" + NODE)), names(authority.issue("by-uri", "uri:urn:uuid:" + NODE)))) {
      assertThat(names.belongTo(NODE, "anywhere.example")).isTrue();
      assertThat(names.belongTo(NODE, null)).isTrue();
      assertThat(names.belongTo(OTHER, "anywhere.example")).isFalse();
    }
  }

  @Test
  void onlyACertificateWithThatRoleAloneIsOfAFrontend() throws Exception {
    var authority = new TestAuthority(directory, "ours");
    String frontend = "uri:urn:dunlin:role:frontend";
    assertThat(names(authority.issue("frontend", "dns:a.example," + frontend)).areOfFrontend()).isTrue();
    assertThat(names(authority.issue("upper-case", "uri:URN:dunlin:role:Frontend")).areOfFrontend()).isTrue();
    assertThat(names(authority.issue("none", "dns:a.example")).areOfFrontend()).isFalse();
    assertThat(names(authority.issue("both", frontend + ",uri:urn:dunlin:role:store")).areOfFrontend()).isFalse();
    assertThat(names(authority.issue("other", "dns:frontend,uri:urn:dunlin:role:dist")).areOfFrontend()).isFalse();
  }

  private static CertificateNames names(TestAuthority.Issued issued) throws Exception {
    try (var in = Files.newInputStream(issued.certificates())) {
      return CertificateNames.of((X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in));
    }
  }
}
