package dunlin.broker.tenant;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TenantLimitsTest {
  private static TenantLimits parse(String text) {
    return TenantLimits.parse(text.isEmpty() ? List.of() : Arrays.asList(text.split(",", -1)));
  }

  @Test
  void whatIsNotGivenIsNotLimited() {
    for (TenantLimit each : TenantLimit.values()) assertThat(TenantLimits.none().max(each)).isEqualTo(TenantLimits.NONE);
    assertThat(parse("")).isEqualTo(TenantLimits.none());
  }

  @Test
  void eachLimitIsReadAndWrittenAgain() {
    String all = "connections=10,connect-rate=5,messages-in=100,bytes-in=64KiB,messages-out=200,bytes-out=1GiB,packet=2MiB,sessions=7,subscriptions=3,qos=1,wildcards=no,shared=yes";
    TenantLimits read = parse(all);
    assertThat(String.join(",", read.texts())).isEqualTo(all);
    assertThat(read.max(TenantLimit.BYTES_IN)).isEqualTo(65_536);
    assertThat(read.max(TenantLimit.BYTES_OUT)).isEqualTo(1L << 30);
    assertThat(read.max(TenantLimit.QOS)).isEqualTo(1);
    assertThat(read.max(TenantLimit.WILDCARDS)).isZero();
    assertThat(read.max(TenantLimit.SHARED)).isEqualTo(1);
    assertThat(TenantLimits.parse(read.texts())).isEqualTo(read);
    assertThat(parse(" packet = 1500 ").texts()).containsExactly("packet=1500");
  }

  @Test
  void anOwnLimitComesBeforeThatOfAllAndNoneLiftsIt() {
    TenantLimits limits = parse("connections=none,qos=0").over(parse("connections=10,connect-rate=5"));
    assertThat(limits.max(TenantLimit.CONNECTIONS)).isEqualTo(TenantLimits.NONE);
    assertThat(limits.max(TenantLimit.CONNECT_RATE)).isEqualTo(5);
    assertThat(limits.max(TenantLimit.QOS)).isZero();
    assertThat(limits.texts()).containsExactly("connections=none", "connect-rate=5", "qos=0");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "connections | is no limit",
        "connection=1 | there is no limit",
        "=1 | there is no limit",
        "connections= | a number from 1",
        "connections=0 | a number from 1",
        "connections=-1 | a number from 1",
        "connections=1KiB | a number from 1",
        "connections=10000001 | a number from 1 to 10000000",
        "connections=99999999999999999999 | a number from 1",
        "connections=1,connections=2 | given twice",
        "packet=1023 | a number from 1KiB to 2MiB",
        "packet=3MiB | a number from 1KiB to 2MiB",
        "packet=999999999999GiB | a number from 1KiB to 2MiB",
        "packet=2mib | a number from 1KiB",
        "qos=3 | a number from 0 to 2",
        "qos=yes | a number from 0 to 2",
        "wildcards=1 | yes or no",
        "shared=true | yes or no",
      })
  void whatIsWrongIsRefusedWithASentence(String text, String why) {
    assertThatThrownBy(() -> parse(text)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining(why);
  }
}
