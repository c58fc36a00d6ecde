/** JMH benchmarks, one class for each question. */
@NullMarked
package dunlin.bench;

import org.jspecify.annotations.NullMarked;
