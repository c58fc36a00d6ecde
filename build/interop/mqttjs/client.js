// The scenario of ../README.md through MQTT.js: client.js HOST PORT VERSION TRANSPORT
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { isDeepStrictEqual, inspect } from 'node:util'
import mqtt from 'mqtt'

const [host, port, version, transport] = process.argv.slice(2)
const level = { 3.1: 3, '3.1.1': 4, 5: 5 }[version]
const v5 = level === 5
const root = 'interop/mqttjs/' + randomBytes(4).toString('hex')
const SECONDS = 10

function check (condition, message) {
  if (!condition) throw new Error(message)
}

function same (actual, expected, what) {
  check(isDeepStrictEqual(actual, expected), `${what}: ${inspect(actual)} instead of ${inspect(expected)}`)
}

function inTime (promise, what) {
  let timer
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come`)), SECONDS * 1000)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

const newId = () => 'js' + randomBytes(6).toString('hex')

/** One connection; what comes waits in a queue. */
class Client {
  static async open ({ clientId = newId(), clean = true, expiry = 0, will } = {}) {
    const client = new Client()
    const options = { clientId, clean, protocolVersion: level, reconnectPeriod: 0, connectTimeout: SECONDS * 1000 }
    if (level === 3) options.protocolId = 'MQIsdp'
    if (v5) options.properties = { sessionExpiryInterval: expiry }
    if (will) options.will = { topic: will, payload: 'gone', qos: 1, retain: false }
    const url = transport === 'ws' ? `ws://${host}:${port}/mqtt` : `mqtt://${host}:${port}`
    client.queue = []
    client.waiting = []
    client.mqtt = mqtt.connect(url, options)
    client.mqtt.on('message', (topic, payload, packet) => client.take({ ...packet, topic, payload }))
    const connected = once(client.mqtt, 'connect') // rejects on 'error'
    client.connack = (await inTime(connected, 'CONNACK'))[0]
    client.mqtt.on('error', () => {})
    return client
  }

  take (message) {
    const next = this.waiting.shift()
    if (next) next(message)
    else this.queue.push(message)
  }

  next () {
    if (this.queue.length) return Promise.resolve(this.queue.shift())
    return inTime(new Promise((resolve) => this.waiting.push(resolve)), 'a message')
  }

  async subscribe (topic, qos = 2, properties = undefined) {
    const granted = await inTime(this.mqtt.subscribeAsync(topic, { qos, properties }), 'SUBACK')
    same(granted.map((one) => one.qos), [qos], 'SUBACK codes')
  }

  publish (topic, payload, qos = 1, retain = false, properties = undefined) {
    return inTime(this.mqtt.publishAsync(topic, payload, { qos, retain, properties }), `the acknowledgement of QoS ${qos}`)
  }

  /** What was sent before the broker answers this round trip has come. */
  async nothingBefore (topic) {
    await this.subscribe(topic + '/fence', 0)
    await this.publish(topic + '/fence', 'fence', 0)
    same((await this.next()).payload.toString(), 'fence', 'a message that should not come')
  }

  /** Ends the connection without DISCONNECT. */
  async lose () {
    const closed = once(this.mqtt, 'close')
    this.mqtt.stream.destroy()
    await inTime(closed, 'the end of the connection')
  }

  end () {
    return inTime(this.mqtt.endAsync(), 'the end of the connection')
  }
}

async function roundTrip () {
  const client = await Client.open()
  const topic = root + '/round-trip'
  await client.subscribe(topic + '/+')
  for (const qos of [0, 1, 2]) {
    await Promise.all([...Array(20).keys()].map((i) => client.publish(`${topic}/${qos}`, String(i), qos)))
    for (let i = 0; i < 20; i++) {
      const message = await client.next()
      same([message.qos, message.payload.toString(), message.retain], [qos, String(i), false], `QoS ${qos}, message ${i}`)
    }
  }
  await client.end()
}

async function unicodeTopic () {
  const client = await Client.open()
  const topic = root + '/Grüße/日本語/🦆'
  await client.subscribe(topic)
  await client.publish(topic, 'Ente 🦆')
  const message = await client.next()
  same([message.topic, message.payload.toString()], [topic, 'Ente 🦆'], 'message')
  await client.end()
}

async function largePayload () {
  const client = await Client.open()
  const topic = root + '/large'
  const payload = Buffer.from(Uint8Array.from({ length: 500_000 }, (_, i) => i * 31 % 251))
  await client.subscribe(topic)
  for (const qos of [0, 1, 2]) {
    await client.publish(topic, payload, qos)
    check(payload.equals((await client.next()).payload), `the payload of QoS ${qos} has changed`)
  }
  await client.end()
}

async function retained () {
  const client = await Client.open()
  const topic = root + '/retained'
  await client.publish(topic, 'kept', 1, true)
  await client.subscribe(topic)
  let message = await client.next()
  same([message.payload.toString(), message.retain], ['kept', true], 'retained message')
  await client.publish(topic, 'live', 2, true)
  message = await client.next()
  same([message.payload.toString(), message.retain], ['live', false], 'live message')
  await client.publish(topic, '', 1, true)
  same((await client.next()).payload.toString(), '', 'removal')
  const late = await Client.open()
  await late.subscribe(topic)
  await late.nothingBefore(topic)
  await late.end()
  await client.end()
}

async function will () {
  const watcher = await Client.open()
  const topic = root + '/will'
  await watcher.subscribe(topic)
  await (await Client.open({ will: topic })).lose()
  same((await watcher.next()).payload.toString(), 'gone', 'will')
  await (await Client.open({ will: topic })).end()
  await watcher.nothingBefore(topic)
  await watcher.end()
}

async function session () {
  const clientId = newId()
  const topic = root + '/session'
  const sender = await Client.open()
  const first = await Client.open({ clientId, clean: false, expiry: 600 })
  check(!first.connack.sessionPresent, 'a session that nobody opened')
  await first.subscribe(topic)
  await first.end()
  for (let i = 0; i < 30; i++) await sender.publish(topic, String(i), 1 + i % 2)
  const again = await Client.open({ clientId, clean: false, expiry: 600 })
  check(level === 3 || again.connack.sessionPresent, 'no session present')
  const got = []
  for (let i = 0; i < 30; i++) got.push(await again.next())
  for (const qos of [1, 2]) { // order holds for messages of one QoS
    const sent = [...Array(30).keys()].filter((i) => 1 + i % 2 === qos).map(String)
    same(got.filter((message) => message.qos === qos).map((message) => message.payload.toString()), sent, `queued messages of QoS ${qos}`)
  }
  await again.end()
  const fresh = await Client.open({ clientId, clean: true })
  check(!fresh.connack.sessionPresent, 'a session after clean start')
  await fresh.nothingBefore(topic)
  await fresh.end()
  await sender.end()
}

async function userProperties () {
  const client = await Client.open()
  const topic = root + '/properties'
  await client.subscribe(topic)
  const properties = { userProperties: { b: ['1', '3'], a: '2', ü: '🦆' }, contentType: 'text/plain', payloadFormatIndicator: true }
  await client.publish(topic, 'x', 1, false, properties)
  const got = (await client.next()).properties
  same({ ...got.userProperties }, properties.userProperties, 'user properties')
  same([got.contentType, got.payloadFormatIndicator], ['text/plain', true], 'content type and format')
  await client.end()
}

async function expiry () {
  const client = await Client.open()
  const topic = root + '/expiry'
  await client.publish(topic, 'x', 1, true, { messageExpiryInterval: 100 })
  await client.subscribe(topic)
  const left = (await client.next()).properties.messageExpiryInterval
  check(left >= 90 && left <= 100, `message expiry ${left} instead of 100 or a little less`)
  await client.publish(topic, '', 1, true)
  await client.end()
}

async function subscriptionIdentifier () {
  const client = await Client.open()
  const topic = root + '/identifier'
  await client.subscribe(topic, 2, { subscriptionIdentifier: 268_435_455 })
  await client.publish(topic, 'x')
  same((await client.next()).properties.subscriptionIdentifier, 268_435_455, 'subscription identifier')
  await client.end()
}

async function topicAlias () {
  const client = await Client.open()
  const topic = root + '/alias'
  check(client.connack.properties?.topicAliasMaximum > 0, 'the broker takes no topic alias')
  await client.subscribe(topic)
  await client.publish(topic, '0', 1, false, { topicAlias: 1 })
  await client.publish('', '1', 1, false, { topicAlias: 1 })
  for (const payload of ['0', '1']) {
    const message = await client.next()
    same([message.topic, message.payload.toString()], [topic, payload], 'message by alias')
  }
  await client.end()
}

async function sharedSubscription () {
  const members = [await Client.open(), await Client.open()]
  const sender = await Client.open()
  const topic = root + '/shared'
  for (const member of members) {
    await member.subscribe(`$share/group/${topic}`)
    await member.subscribe(topic + '/fence')
  }
  for (let i = 0; i < 40; i++) await sender.publish(topic, String(i))
  await sender.publish(topic + '/fence', 'fence')
  const got = []
  for (const member of members) {
    for (let text; (text = (await member.next()).payload.toString()) !== 'fence';) got.push(Number(text))
  }
  same(got.sort((a, b) => a - b), [...Array(40).keys()], 'messages of the group')
  for (const client of [...members, sender]) await client.end()
}

async function requestResponse () {
  const asker = await Client.open()
  const answerer = await Client.open()
  const topic = root + '/request'
  await answerer.subscribe(topic)
  await asker.subscribe(topic + '/response')
  await asker.publish(topic, '6*7', 1, false, { responseTopic: topic + '/response', correlationData: Buffer.from([0, 1, 255]) })
  const { responseTopic, correlationData } = (await answerer.next()).properties
  await answerer.publish(responseTopic, '42', 1, false, { correlationData })
  const response = await asker.next()
  same([response.payload.toString(), [...response.properties.correlationData]], ['42', [0, 1, 255]], 'response')
  await asker.end()
  await answerer.end()
}

const steps = {
  connect: async () => (await Client.open()).end(),
  'round-trip': roundTrip,
  'unicode-topic': unicodeTopic,
  'large-payload': largePayload,
  retained,
  will,
  session
}
if (v5) {
  Object.assign(steps, {
    'user-properties': userProperties,
    expiry,
    'subscription-identifier': subscriptionIdentifier,
    'topic-alias': topicAlias,
    'shared-subscription': sharedSubscription,
    'request-response': requestResponse
  })
}
for (const [name, step] of Object.entries(steps)) {
  try {
    await step()
  } catch (failure) {
    console.error(`failed ${name}: ${failure.message}`)
    process.exit(1)
  }
  console.log(`ok ${name}`)
}
process.exit(0)
