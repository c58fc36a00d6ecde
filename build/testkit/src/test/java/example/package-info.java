/** The examples of docs/testing.md, as people write them who use the test kit. */
package example;
