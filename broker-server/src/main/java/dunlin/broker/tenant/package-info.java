/**
 * Tenants as a frontend sees them: what each may have, what it has at this node, and the records that operators change.
 *
 * <p>Who owns what: {@code Tenants} has an entry, {@code Tenant}, for each tenant with connections, which any thread may ask. What a tenant may have follows from
 * settings and from its record in the range of users, roles and bans, of which each node has a copy; it is replaced as a whole when the copy changes. {@code TenantsBean} makes the changes that operators ask for.
 *
 * <p>Bounds: entries, no more than connections; records, those of the range. Failure: without the range there are no records, and limits are those of the settings.
 */
@NullMarked
package dunlin.broker.tenant;

import org.jspecify.annotations.NullMarked;
