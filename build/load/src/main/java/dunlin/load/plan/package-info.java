/** What a run is to do: pools of clients, the steps that they go through, and what is expected. Values only. */
@NullMarked
package dunlin.load.plan;

import org.jspecify.annotations.NullMarked;
