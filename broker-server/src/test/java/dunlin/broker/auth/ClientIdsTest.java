package dunlin.broker.auth;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.runtime.SettingException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ClientIdsTest {
  @ParameterizedTest
  @CsvSource({
    "*, alice, anything", "*, '', anything", "%u, alice, alice", "%u*, alice, alice", "%u*, alice, alice-1", "%u-*, alice, alice-1",
    "%u-*, alice, alice-", "site/%u/*/x, bob, site/bob/7/x", "*-%u, bob, 1-bob", "fixed-*, '', fixed-1", "fixed, bob, fixed",
    "%u-*, a*, a*-1", "%u-*, %u, %u-1", "%u-%u, b, b-b"
  })
  void whatFitsIsAllowed(String template, String user, String clientId) {
    assertThat(ClientIds.of(template).allows(user, clientId)).isTrue();
  }

  @ParameterizedTest
  @CsvSource({
    "%u, alice, alice2", "%u, alice, ALICE", "%u, '', ''", "%u*, alice, bob", "%u*, '', anything", "%u-*, alice, alice", "%u-*, alice, alic-e",
    "%u-*, a*, ab-1", "%u-*, %u, alice-1", "ab*ba, x, aba", "*-%u, bob, bob", "fixed-*, bob, fixed"
  })
  void whatDoesNotFitIsNot(String template, String user, String clientId) {
    assertThat(ClientIds.of(template).allows(user, clientId)).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"*", "%u", "%u*", "%u-*", "x/*/%u", "fixed"})
  void whatIsAssignedIsAllowed(String template) {
    ClientIds ids = ClientIds.of(template);
    assertThat(ids.assign("alice")).hasValueSatisfying(assigned -> assertThat(ids.allows("alice", assigned)).isTrue());
  }

  @Test
  void assignedIdentifiersDifferWhereTheyMay() {
    ClientIds ids = ClientIds.of("%u-*");
    assertThat(ids.assign("alice")).isNotEqualTo(ids.assign("alice"));
    assertThat(ids.assign("")).isEmpty();
    assertThat(ClientIds.of("*").assign("")).isPresent();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "%", "%c", "a%", "**", "*-*", "a\u0001", "%%u"})
  void whatIsNoTemplateIsRefusedByName(String template) {
    assertThatThrownBy(() -> ClientIds.of(template)).isInstanceOf(SettingException.class).hasMessageContaining("dunlin.auth.client-ids");
  }
}
