package main

import (
	"context"
	"fmt"
	"net"
	"slices"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"
)

type properties = *paho.PublishProperties

// A connection of MQTT 5.
type clientV5 struct {
	mqtt    *paho.Client
	conn    net.Conn
	connack *paho.Connack
	got     chan message
}

func openV5(with options) client {
	conn, err := dial("mqtt")
	checkError(err, "connecting")
	// Paho writes a packet in parts, and acknowledges from a goroutine of its own; over WebSocket nothing else keeps the
	// parts of two packets from mixing.
	conn = packets.NewThreadSafeConn(conn)
	c := &clientV5{conn: conn, got: make(chan message, 1000)}
	c.mqtt = paho.NewClient(paho.ClientConfig{
		Conn: conn,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){
			func(r paho.PublishReceived) (bool, error) {
				p := r.Packet
				c.got <- message{topic: p.Topic, payload: string(p.Payload), qos: p.QoS, retained: p.Retain, v5: p.Properties}
				return true, nil
			},
		},
	})
	connect := &paho.Connect{ClientID: with.id, CleanStart: !with.durable, KeepAlive: 30}
	if with.durable {
		expiry := uint32(600)
		connect.Properties = &paho.ConnectProperties{SessionExpiryInterval: &expiry}
	}
	if with.will != "" {
		connect.WillMessage = &paho.WillMessage{Topic: with.will, Payload: []byte("gone"), QoS: 1}
	}
	timed, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c.connack, err = c.mqtt.Connect(timed, connect)
	checkError(err, "CONNACK")
	return c
}

func (c *clientV5) sessionPresent() bool { return c.connack.SessionPresent }

func (c *clientV5) subscribe(filter string, qos byte) { c.subscribeWith(filter, qos, nil) }

func (c *clientV5) subscribeWith(filter string, qos byte, with *paho.SubscribeProperties) {
	timed, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	suback, err := c.mqtt.Subscribe(timed, &paho.Subscribe{
		Properties:    with,
		Subscriptions: []paho.SubscribeOptions{{Topic: filter, QoS: qos}},
	})
	checkError(err, "SUBACK")
	same(suback.Reasons, []byte{qos}, "SUBACK codes")
}

func (c *clientV5) publish(topic, payload string, qos byte, retained bool) {
	c.publishWith(topic, payload, qos, retained, nil)
}

func (c *clientV5) publishWith(topic, payload string, qos byte, retained bool, with properties) {
	timed, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, err := c.mqtt.Publish(timed, &paho.Publish{
		Topic: topic, Payload: []byte(payload), QoS: qos, Retain: retained, Properties: with,
	})
	checkError(err, "acknowledgement")
}

func (c *clientV5) messages() <-chan message { return c.got }

func (c *clientV5) lose() { checkError(c.conn.Close(), "closing") }

func (c *clientV5) end() { checkError(c.mqtt.Disconnect(&paho.Disconnect{}), "DISCONNECT") }

func open5() *clientV5 { return open(options{}).(*clientV5) }

func userProperties() {
	c, topic := open5(), root+"/properties"
	c.subscribe(topic, 2)
	format := byte(1)
	pairs := paho.UserProperties{{Key: "b", Value: "1"}, {Key: "a", Value: "2"}, {Key: "b", Value: "3"}, {Key: "ü", Value: "🦆"}}
	c.publishWith(topic, "x", 1, false, &paho.PublishProperties{User: pairs, ContentType: "text/plain", PayloadFormat: &format})
	got := next(c).v5
	same(got.User, pairs, "user properties")
	check(got.ContentType == "text/plain" && got.PayloadFormat != nil && *got.PayloadFormat == 1, "content type or format: %v", got)
	c.end()
}

func expiry() {
	c, topic := open5(), root+"/expiry"
	seconds := uint32(100)
	c.publishWith(topic, "x", 1, true, &paho.PublishProperties{MessageExpiry: &seconds})
	c.subscribe(topic, 2)
	left := next(c).v5.MessageExpiry
	check(left != nil && *left >= 90 && *left <= 100, "message expiry is not 100 or a little less")
	c.publish(topic, "", 1, true)
	c.end()
}

func subscriptionIdentifier() {
	c, topic := open5(), root+"/identifier"
	identifier := 268_435_455
	c.subscribeWith(topic, 2, &paho.SubscribeProperties{SubscriptionIdentifier: &identifier})
	c.publish(topic, "x", 1, false)
	got := next(c).v5.SubscriptionIdentifier
	check(got != nil && *got == identifier, "subscription identifier %v", got)
	c.end()
}

func topicAlias() {
	c, topic := open5(), root+"/alias"
	most := c.connack.Properties.TopicAliasMaximum
	check(most != nil && *most > 0, "the broker takes no topic alias")
	c.subscribe(topic, 2)
	alias := uint16(1)
	c.publishWith(topic, "0", 1, false, &paho.PublishProperties{TopicAlias: &alias})
	c.publishWith("", "1", 1, false, &paho.PublishProperties{TopicAlias: &alias})
	for i := range 2 {
		got := next(c)
		same([]string{got.topic, got.payload}, []string{topic, fmt.Sprint(i)}, "message by alias")
	}
	c.end()
}

func sharedSubscription() {
	members, sender, topic := []client{open5(), open5()}, open5(), root+"/shared"
	for _, member := range members {
		member.subscribe("$share/group/"+topic, 2)
		member.subscribe(topic+"/fence", 2)
	}
	sent, got := []string{}, []string{}
	for i := range 40 {
		one := fmt.Sprintf("%02d", i)
		sender.publish(topic, one, 1, false)
		sent = append(sent, one)
	}
	sender.publish(topic+"/fence", "fence", 1, false)
	for _, member := range members {
		for one := next(member).payload; one != "fence"; one = next(member).payload {
			got = append(got, one)
		}
		member.end()
	}
	slices.Sort(got)
	same(got, sent, "messages of the group")
	sender.end()
}

func requestResponse() {
	asker, answerer, topic := open5(), open5(), root+"/request"
	answerer.subscribe(topic, 2)
	asker.subscribe(topic+"/response", 2)
	data := []byte{0, 1, 255}
	asker.publishWith(topic, "6*7", 1, false, &paho.PublishProperties{ResponseTopic: topic + "/response", CorrelationData: data})
	request := next(answerer).v5
	answerer.publishWith(request.ResponseTopic, "42", 1, false, &paho.PublishProperties{CorrelationData: request.CorrelationData})
	response := next(asker)
	same([]any{response.payload, response.v5.CorrelationData}, []any{"42", data}, "response")
	asker.end()
	answerer.end()
}

var stepsV5 = []step{
	{"user-properties", userProperties},
	{"expiry", expiry},
	{"subscription-identifier", subscriptionIdentifier},
	{"topic-alias", topicAlias},
	{"shared-subscription", sharedSubscription},
	{"request-response", requestResponse},
}
