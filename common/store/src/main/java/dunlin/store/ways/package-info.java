/** Ways to the ranges of a kind, for those who call their leaders: by the map of the cluster, also while ranges are split. */
@NullMarked
package dunlin.store.ways;

import org.jspecify.annotations.NullMarked;
