package dunlin.admin.doctor;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.doctor.DoctorMXBean.Finding;
import org.jspecify.annotations.Nullable;

/** Looks at a finding as an operator reads it: its verdict, what its sentence says, and that there is a remedy unless all is well. */
final class Verdicts {
  private Verdicts() {}

  static void verdict(@Nullable Finding found, String verdict, String... says) {
    Finding finding = requireNonNull(found, "there is no such check");
    assertThat(finding.verdict()).as(finding.toString()).isEqualTo(verdict);
    assertThat(finding.finding()).endsWith(".");
    for (String each : says) assertThat(finding.finding()).contains(each);
    if (verdict.equals(DoctorMXBean.OK)) assertThat(finding.remedy()).isEmpty();
    else assertThat(finding.remedy()).endsWith(".");
  }
}
