package main

import (
	"fmt"
	"net"
	"net/http"
	"net/url"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

// A connection of MQTT 3.1 or 3.1.1.
type clientV3 struct {
	mqtt    mqtt.Client
	conn    net.Conn
	present bool
	got     chan message
}

func address() string {
	if transport == "ws" {
		return fmt.Sprintf("ws://%s:%s/mqtt", host, port)
	}
	return fmt.Sprintf("tcp://%s:%s", host, port)
}

// dial opens the connection itself, so that it can be cut.
func dial(protocol string) (net.Conn, error) {
	if transport == "ws" {
		header := http.Header{"Sec-WebSocket-Protocol": {protocol}}
		return mqtt.NewWebsocket(address(), nil, limit, header, nil)
	}
	return net.DialTimeout("tcp", net.JoinHostPort(host, port), limit)
}

func openV3(with options) client {
	c := &clientV3{got: make(chan message, 1000)}
	set := mqtt.NewClientOptions().
		AddBroker(address()).
		SetClientID(with.id).
		SetProtocolVersion(map[string]uint{"3.1": 3, "3.1.1": 4}[version]).
		SetCleanSession(!with.durable).
		SetAutoReconnect(false).
		SetConnectTimeout(limit).
		SetCustomOpenConnectionFn(func(*url.URL, mqtt.ClientOptions) (net.Conn, error) {
			conn, err := dial(map[string]string{"3.1": "mqttv3.1", "3.1.1": "mqtt"}[version])
			c.conn = conn
			return conn, err
		}).
		SetDefaultPublishHandler(func(_ mqtt.Client, m mqtt.Message) {
			c.got <- message{topic: m.Topic(), payload: string(m.Payload()), qos: m.Qos(), retained: m.Retained()}
		})
	if with.will != "" {
		set.SetWill(with.will, "gone", 1, false)
	}
	c.mqtt = mqtt.NewClient(set)
	token := c.mqtt.Connect().(*mqtt.ConnectToken)
	done(token, "CONNACK")
	c.present = token.SessionPresent()
	return c
}

func done(token mqtt.Token, what string) {
	check(token.WaitTimeout(limit), "%s did not come", what)
	checkError(token.Error(), what)
}

func (c *clientV3) sessionPresent() bool { return c.present }

func (c *clientV3) subscribe(filter string, qos byte) {
	token := c.mqtt.Subscribe(filter, qos, nil).(*mqtt.SubscribeToken)
	done(token, "SUBACK")
	same(token.Result(), map[string]byte{filter: qos}, "SUBACK codes")
}

func (c *clientV3) publish(topic, payload string, qos byte, retained bool) {
	done(c.mqtt.Publish(topic, qos, retained, payload), "acknowledgement")
}

func (c *clientV3) messages() <-chan message { return c.got }

func (c *clientV3) lose() { checkError(c.conn.Close(), "closing") }

func (c *clientV3) end() { c.mqtt.Disconnect(100) }
