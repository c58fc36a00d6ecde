package dunlin.broker.users;

import dunlin.broker.access.AccessAction;
import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;
import java.util.List;

/**
 * Users, roles and bans, as operators see and change them by JMX: {@code dunlin:type=Access,node=<id>}. What is listed is the copy that clients are judged by; it has all
 * changes that were made here.
 *
 * <p>Each change names the version that the row must have, so that two operators do not undo each other's work: -1 for any, 0 for none, which means that it is to be
 * created.
 */
@Description("Users, roles and bans")
public interface AccessMXBean {
  /**
   * @param password whether the user has one; it is not shown
   * @param roles names of roles with commas between them
   * @param version to be given with the next change of this user
   */
  record UserRow(String name, boolean password, String roles, boolean enabled, long version) {}

  /**
   * @param rules one in each line
   * @param users how many users have the role
   * @param version to be given with the next change of this role
   */
  record RoleRow(String name, String rules, int users, long version) {}

  /**
   * @param until in ISO format; empty for no end
   * @param version to be given with the next change of this ban
   */
  record BanRow(BanKind kind, String value, String until, String reason, long version) {}

  /**
   * @param reason which rule decides: {@code FILE:LINE}, or the role and the number of its rule
   * @param remarks what else matters, such as which part of a subscription is withheld
   */
  record CheckedAccess(boolean allowed, String reason, List<String> remarks) {}

  @Description("Version of this node's copy: it rises with each change of a user, role or ban")
  long getVersion();

  @Description("Whether this node has had all users, roles and bans since it started; until then it refuses clients")
  boolean isComplete();

  @Description("Lists users in the order of their names")
  List<UserRow> users(
      @Description("The last name of the previous page; empty for the first page") String after,
      @Description("Maximum number of users in the answer: 1 to 1000") @Unit("users") int max);

  @Description("Shows one user; empty when there is none of this name")
  List<UserRow> user(@Description("Name of the user") String name);

  @Description("Creates or changes a user. Answers the new version")
  long putUser(
      @Description("Name of the user") String name,
      @Description(value = "Password; empty to keep the present one, or for a user without a password", concealed = true) String password,
      @Description("Names of roles with commas between them") String roles,
      @Description("Whether clients of the user may connect. If not, they are disconnected, too") boolean enabled,
      @Description("Version that the user must have: -1 for any, 0 for one that does not exist") long version);

  @Description("Deletes a user, and disconnects its clients. Answers the new version of the copy")
  long deleteUser(
      @Description("Name of the user") String name, @Description("Version that the user must have; -1 for any") long version);

  @Description("Lists roles in the order of their names")
  List<RoleRow> roles(
      @Description("The last name of the previous page; empty for the first page") String after,
      @Description("Maximum number of roles in the answer: 1 to 1000") @Unit("roles") int max);

  @Description("Shows one role; empty when there is none of this name")
  List<RoleRow> role(@Description("Name of the role") String name);

  @Description("Creates or changes a role. Answers the new version")
  long putRole(
      @Description("Name of the role: letters, digits, dots, dashes and underscores") String name,
      @Description("Rules, one in each line, without whom they are about: allow publish devices/%c/up") String rules,
      @Description("Version that the role must have: -1 for any, 0 for one that does not exist") long version);

  @Description("Deletes a role that no user has. Answers the new version of the copy")
  long deleteRole(
      @Description("Name of the role") String name, @Description("Version that the role must have; -1 for any") long version);

  @Description("Says whether a client may do something, and which rule of the file or of its user's roles decides; without rules and attributes of a token or certificate")
  CheckedAccess check(
      @Description("What it wants to do: PUBLISH, SUBSCRIBE or RECEIVE") AccessAction action,
      @Description("Topic name; to subscribe, a topic filter") String topic,
      @Description("Authenticated user name; empty for none") String user,
      @Description("Client identifier") String clientId,
      @Description("Tenant of the client") String tenant,
      @Description("QoS of the message or subscription") int qos,
      @Description("Whether the message has the flag RETAIN") boolean retain);

  @Description("Lists bans of a kind in the order of their values, also those that have just ended")
  List<BanRow> bans(
      @Description("What is banned: CLIENT, USER or ADDRESS") BanKind kind,
      @Description("The last value of the previous page; empty for the first page") String after,
      @Description("Maximum number of bans in the answer: 1 to 1000") @Unit("bans") int max);

  @Description("Shows one ban; empty when there is none")
  List<BanRow> ban(@Description("What is banned: CLIENT, USER or ADDRESS") BanKind kind, @Description("The value") String value);

  @Description("Creates or changes a ban, and disconnects the clients that fall under it. Answers the new version")
  long putBan(
      @Description("What is banned: CLIENT, USER or ADDRESS") BanKind kind,
      @Description("A client identifier, a user name, an address, or a network such as 192.0.2.0/24") String value,
      @Description("Seconds from now until it ends; 0 for no end") @Unit("seconds") long seconds,
      @Description("Why, for operators") String reason,
      @Description("Version that the ban must have: -1 for any, 0 for one that does not exist") long version);

  @Description("Deletes a ban. Answers the new version of the copy")
  long deleteBan(
      @Description("What is banned: CLIENT, USER or ADDRESS") BanKind kind,
      @Description("The value") String value,
      @Description("Version that the ban must have; -1 for any") long version);
}
