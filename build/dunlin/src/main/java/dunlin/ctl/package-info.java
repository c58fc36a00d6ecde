/**
 * {@code bin/dunlinctl}: a client of the admin API. It has a command for each endpoint of {@link dunlin.admin.api.Endpoints}, and reaches a
 * node by HTTP only. One request at a time, one process for each command; it keeps nothing.
 */
@NullMarked
package dunlin.ctl;

import org.jspecify.annotations.NullMarked;
