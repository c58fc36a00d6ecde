package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.api.Role;
import dunlin.harness.SecureBroker;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Until when the certificates of listeners are valid, on the page. */
class CertificatesPageIT extends PageOfBroker {
  /** Its certificate is valid for nine days from now, of which eight are whole ones when it is looked at. */
  @Override
  Map<String, String> settings() {
    return new SecureBroker(directory).withCertificate().settings;
  }

  @Test
  void aCertificateThatExpiresSoonIsMarked() throws Exception {
    signIn(Role.VIEWER);
    view("listeners", "Listeners");
    awaitShown("tls", ", in 8 days");

    assertThat(js("[...document.querySelectorAll('#view td .bad')].map(each => each.textContent).join('|')")).matches("[^|]+, in 8 days");
    nothingWasAskedOfOthersAndNothingFailed();
  }
}
