// The scenario of ../README.md through Paho's two Go clients, the one for MQTT 3 and the one for MQTT 5:
// interop HOST PORT VERSION TRANSPORT
package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
)

const limit = 10 * time.Second

var (
	host, port, version, transport = os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	root                           = fmt.Sprintf("interop/paho-go/%08x", rand.Uint32())
)

// A message as both clients bring it.
type message struct {
	topic    string
	payload  string
	qos      byte
	retained bool
	v5       properties // nothing in it with MQTT 3
}

// How to connect.
type options struct {
	id      string
	durable bool // the session outlives the connection, and is resumed
	will    string
}

// One connection; what comes waits in its channel. Every method panics where the broker does not do what it should.
type client interface {
	sessionPresent() bool
	subscribe(filter string, qos byte)
	publish(topic, payload string, qos byte, retained bool)
	messages() <-chan message
	lose() // ends the connection without DISCONNECT
	end()
}

func open(with options) client {
	if with.id == "" {
		with.id = newID()
	}
	if version == "5" {
		return openV5(with)
	}
	return openV3(with)
}

func newID() string { return fmt.Sprintf("go%012x", rand.Uint64N(1<<48)) }

func check(condition bool, format string, values ...any) {
	if !condition {
		panic(fmt.Sprintf(format, values...))
	}
}

func checkError(err error, what string) { check(err == nil, "%s: %v", what, err) }

func same(actual, expected any, what string) {
	check(reflect.DeepEqual(actual, expected), "%s: %v instead of %v", what, actual, expected)
}

func next(c client) message {
	select {
	case got := <-c.messages():
		return got
	case <-time.After(limit):
		panic("a message did not come")
	}
}

// nothingBefore makes a round trip: what was sent before the broker answers it has come.
func nothingBefore(c client, topic string) {
	c.subscribe(topic+"/fence", 0)
	c.publish(topic+"/fence", "fence", 0, false)
	same(next(c).payload, "fence", "a message that should not come")
}

func roundTrip() {
	c, topic := open(options{}), root+"/round-trip"
	c.subscribe(topic+"/+", 2)
	for qos := range byte(3) {
		for i := range 20 {
			c.publish(fmt.Sprintf("%s/%d", topic, qos), fmt.Sprint(i), qos, false)
		}
		for i := range 20 {
			got := next(c)
			same([]any{got.qos, got.payload, got.retained}, []any{qos, fmt.Sprint(i), false}, "message")
		}
	}
	c.end()
}

func unicodeTopic() {
	c, topic := open(options{}), root+"/Grüße/日本語/🦆"
	c.subscribe(topic, 2)
	c.publish(topic, "Ente 🦆", 1, false)
	got := next(c)
	same([]string{got.topic, got.payload}, []string{topic, "Ente 🦆"}, "message")
	c.end()
}

func largePayload() {
	c, topic := open(options{}), root+"/large"
	payload := make([]byte, 500_000)
	for i := range payload {
		payload[i] = byte(i * 31 % 251)
	}
	c.subscribe(topic, 2)
	for qos := range byte(3) {
		c.publish(topic, string(payload), qos, false)
		check(bytes.Equal([]byte(next(c).payload), payload), "the payload of QoS %d has changed", qos)
	}
	c.end()
}

func retained() {
	c, topic := open(options{}), root+"/retained"
	c.publish(topic, "kept", 1, true)
	c.subscribe(topic, 2)
	got := next(c)
	same([]any{got.payload, got.retained}, []any{"kept", true}, "retained message")
	c.publish(topic, "live", 2, true)
	got = next(c)
	same([]any{got.payload, got.retained}, []any{"live", false}, "live message")
	c.publish(topic, "", 1, true)
	same(next(c).payload, "", "removal")
	late := open(options{})
	late.subscribe(topic, 2)
	nothingBefore(late, topic)
	late.end()
	c.end()
}

func will() {
	watcher, topic := open(options{}), root+"/will"
	watcher.subscribe(topic, 2)
	open(options{will: topic}).lose()
	same(next(watcher).payload, "gone", "will")
	open(options{will: topic}).end()
	nothingBefore(watcher, topic)
	watcher.end()
}

func session() {
	id, topic, sender := newID(), root+"/session", open(options{})
	first := open(options{id: id, durable: true})
	check(!first.sessionPresent(), "a session that nobody opened")
	first.subscribe(topic, 2)
	first.end()
	sent, got := map[byte][]string{}, map[byte][]string{} // order holds for messages of one QoS
	for i := range 30 {
		qos := byte(1 + i%2)
		sender.publish(topic, fmt.Sprint(i), qos, false)
		sent[qos] = append(sent[qos], fmt.Sprint(i))
	}
	again := open(options{id: id, durable: true})
	check(version == "3.1" || again.sessionPresent(), "no session present")
	for range 30 {
		one := next(again)
		got[one.qos] = append(got[one.qos], one.payload)
	}
	same(got, sent, "queued messages")
	again.end()
	fresh := open(options{id: id})
	check(!fresh.sessionPresent(), "a session after clean start")
	nothingBefore(fresh, topic)
	fresh.end()
	sender.end()
}

type step struct {
	name string
	run  func()
}

var steps = []step{
	{"connect", func() { open(options{}).end() }},
	{"round-trip", roundTrip},
	{"unicode-topic", unicodeTopic},
	{"large-payload", largePayload},
	{"retained", retained},
	{"will", will},
	{"session", session},
}

func run(one step) {
	defer func() {
		if failure := recover(); failure != nil {
			fmt.Fprintf(os.Stderr, "failed %s: %s\n", one.name, strings.ReplaceAll(fmt.Sprint(failure), "\n", " "))
			os.Exit(1)
		}
	}()
	one.run()
	fmt.Println("ok", one.name)
}

func main() {
	all := slices.Clone(steps)
	if version == "5" {
		all = append(all, stepsV5...)
	}
	for _, one := range all {
		run(one)
	}
}
