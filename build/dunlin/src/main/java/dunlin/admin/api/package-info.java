/**
 * What the admin API offers: one table of endpoints, from which requests are dispatched, the OpenAPI document is made, and {@code
 * dunlinctl} has its commands. It is a description only, and knows no node.
 */
@NullMarked
package dunlin.admin.api;

import org.jspecify.annotations.NullMarked;
