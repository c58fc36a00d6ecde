package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.api.Role;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Backups on the page. */
class BackupPageIT extends PageOfBroker {
  private Path backups() {
    return directory.resolve("backups");
  }

  @Override
  Map<String, String> settings() {
    return Map.of("dunlin.backup.directory", backups().toString());
  }

  @Test
  void aBackupIsBegunAndFollowed() throws Exception {
    absent("meter-7", "to/#");
    publish("to/meter", "hello", 10);
    signIn(api.token());
    view("cluster", "Cluster");
    await("none yet", () -> browser().text("backup-state").equals("This node has made no backup since its start."));
    fill("backup-name", ".hidden");
    press("#backup-start");
    assertThat(js("document.getElementById('backup-name').validity.patternMismatch")).as("the browser itself refuses it").isEqualTo("true");
    fill("backup-name", "monday");
    press("#backup-start");

    await("it is complete", () -> browser().text("backup-state").equals("The last backup of this node: complete."));
    assertThat(browser().text("backup")).contains("Backup\nmonday", "State\ncomplete", backups().resolve("monday").toString());
    assertThat(backups().resolve("monday")).isDirectory();
    assertThat(js("document.getElementById('backup-cancel').checkVisibility()")).isEqualTo("false");

    fill("backup-name", "monday");
    press("#backup-start");
    await("why there is no second one", () -> !browser().text("trouble").isEmpty());
    assertThat(browser().errors()).as("that there is no cluster, and this").hasSize(2).allMatch(error -> error.contains("409 (Conflict)"));
  }

  @Test
  void aViewerSeesTheLastOne() throws Exception {
    assertThat(api.post("/backup/monday", "{}").status()).isEqualTo(200);
    signIn(Role.VIEWER);
    view("cluster", "Cluster");
    await("it is complete", () -> browser().text("backup-state").equals("The last backup of this node: complete."));
    awaitShown("To make a backup needs the role admin.");
    assertThat(js("document.getElementById('backup-start').checkVisibility()")).isEqualTo("false");
    try (var made = Files.list(backups())) {
      assertThat(made).hasSize(1);
    }
  }
}
