package dunlin.broker.tenant;

import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;
import java.util.List;

/**
 * The records of tenants, as operators see and change them by JMX: {@code dunlin:type=Tenants,node=<id>}. Versions are as with users, roles and bans.
 */
@Description("Tenants that have a record")
public interface TenantsMXBean {
  /**
   * @param state active, suspended or deleting
   * @param limits its own, with commas between them; empty when it has those of the settings only
   * @param connections at this node
   * @param limited how often this node has reached limits of the tenant since it has known its clients, such as {@code connections=3,messages-in=70}
   * @param version to be given with the next change of this tenant
   */
  record TenantRow(String name, String state, String limits, int connections, String limited, long version) {}

  @Description("Lists the records of tenants in the order of their names")
  List<TenantRow> tenants(
      @Description("The last name of the previous page; empty for the first page") String after,
      @Description("Maximum number of tenants in the answer: 1 to 1000") @Unit("tenants") int max);

  @Description("Shows the record of a tenant; empty when there is none of this name")
  List<TenantRow> tenant(@Description("Name of the tenant") String name);

  @Description("Creates a tenant, or replaces the limits of one. Answers the new version")
  long putTenant(
      @Description("Name of the tenant: 1 to 64 letters, digits, dots, dashes and underscores") String name,
      @Description("Its own limits with commas between them, such as connections=1000,packet=64KiB; empty for those of the settings") String limits,
      @Description("Version that the tenant must have: -1 for any, 0 for one that does not exist") long version);

  @Description("Disconnects the clients of a tenant, and refuses them from now on. What it has stays. Answers the new version")
  long suspendTenant(@Description("Name of the tenant") String name, @Description("Version that the tenant must have; -1 for any") long version);

  @Description("Lets the clients of a suspended tenant connect again. Answers the new version")
  long resumeTenant(@Description("Name of the tenant") String name, @Description("Version that the tenant must have; -1 for any") long version);

  @Description(
      "Disconnects the clients of a tenant, refuses them, and begins to delete its sessions with their messages and its retained messages."
          + " When nothing is left, its record is deleted. Answers the new version")
  long deleteTenant(@Description("Name of the tenant") String name, @Description("Version that the tenant must have; -1 for any") long version);
}
