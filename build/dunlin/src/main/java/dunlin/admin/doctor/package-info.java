/**
 * Looks at what a node has around it: limits of the process and of the kernel, memory, disk, clock, certificates, listeners, ranges, and counters of the last
 * hour. It finds what is wrong or soon will be, and says how to mend it. Nothing is changed, and nothing but an hour of some counters is kept; a look takes some
 * milliseconds, on the thread of the operator.
 */
@NullMarked
package dunlin.admin.doctor;

import org.jspecify.annotations.NullMarked;
