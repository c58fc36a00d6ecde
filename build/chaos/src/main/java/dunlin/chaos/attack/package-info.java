/** What ordinary clients can do to a broker with a small heap, and what a neighbour notices of it. */
@NullMarked
package dunlin.chaos.attack;

import org.jspecify.annotations.NullMarked;
