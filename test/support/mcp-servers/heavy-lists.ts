/**
 * Lists as large as can be, over stdio, or over streamable HTTP with the argument `http`, which prints the port. MEGABYTES of
 * each list in pages of 4 MB; CHANGES_MS: the time between two notifications that all of them changed (0: none); SHAPE `wide`
 * (items of 200 KB), `small` (5,000 items of some bytes), or `values` (a page of millions of empty arrays). HUGE_HELLO: an
 * initialize result of 8 MB. NOTICES: endless notifications of 200 KB.
 */
import { type Message, onMessages, say } from './lines.ts'

const { MEGABYTES = '16', CHANGES_MS = '0', SHAPE = 'wide', HUGE_HELLO, NOTICES } = process.env
const ITEM = 200_000
const PAGE = 4_000_000
let turn = 0

const MEMBERS: Record<string, string> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
}

function item(member: string, index: number): string {
  const name = `${member}_${index}`
  const text = SHAPE === 'small' ? `${turn}` : `${turn}${'x'.repeat(ITEM)}`
  const key =
    member === 'resources'
      ? `"uri":"heavy://${name}",`
      : member === 'resourceTemplates'
        ? `"uriTemplate":"heavy://${name}/{a}",`
        : ''
  const schema = member === 'tools' ? ',"inputSchema":{"type":"object"}' : ''
  return `{${key}"name":"${name}","description":"${text}"${schema}}`
}

/** `from`: the number of the first item. */
function page(member: string, from: number): string {
  if (SHAPE === 'values') return `{"${member}":[{"name":"a","x":[${'[],'.repeat(2_500_000)}[]]}]}`
  const most = SHAPE === 'small' ? 5_000 : Math.floor((Number(MEGABYTES) * 1_000_000) / ITEM)
  const items: string[] = []
  let bytes = 0
  let at = from
  for (; at < most && bytes < PAGE; at += 1) {
    const text = item(member, at)
    items.push(text)
    bytes += text.length
  }
  const next = at < most ? `,"nextCursor":"${at}"` : ''
  return `{"${member}":[${items.join(',')}]${next}}`
}

/** The result of a request as JSON text. */
function resultOf({ method, params }: Message): string {
  if (method === 'initialize') {
    const info = { name: 'heavy', version: '1', ...(HUGE_HELLO ? { title: 'y'.repeat(4_000_000) } : {}) }
    return JSON.stringify({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: { listChanged: true }, prompts: {}, resources: {}, logging: {} },
      serverInfo: info,
      ...(HUGE_HELLO ? { instructions: 'z'.repeat(4_000_000) } : {}),
    })
  }
  const member = MEMBERS[method ?? '']
  return member ? page(member, Number(params?.cursor ?? 0)) : '{}'
}

function answer(message: Message): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${resultOf(message)}}`
}

let notify = say
if (process.argv[2] === 'http') {
  const streams = new Set<ReadableStreamDefaultController<string>>()
  notify = text => {
    for (const stream of streams) {
      try {
        stream.enqueue(`data: ${text}\n\n`)
      } catch {
        // Its client has disconnected: an exception here would end the server.
        streams.delete(stream)
      }
    }
  }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      if (request.method === 'GET') {
        const body = new ReadableStream<string>({
          start(controller) {
            streams.add(controller)
            controller.enqueue(': ok\n\n')
          },
        })
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
      }
      if (request.method !== 'POST') return new Response(null, { status: 405 })
      const message = (await request.json()) as Message
      if (message.id === undefined) return new Response(null, { status: 202 })
      return new Response(answer(message), {
        headers: { 'content-type': 'application/json', 'mcp-session-id': 'one' },
      })
    },
  })
  console.log(server.port)
} else {
  onMessages(message => {
    if (message.id !== undefined) say(answer(message))
  })
}

if (Number(CHANGES_MS) > 0)
  setInterval(() => {
    turn += 1
    for (const kind of ['tools', 'prompts', 'resources'])
      notify(`{"jsonrpc":"2.0","method":"notifications/${kind}/list_changed"}`)
  }, Number(CHANGES_MS))
if (NOTICES)
  setInterval(() => {
    const params = { level: 'info', data: 'n'.repeat(200_000) }
    for (let count = 0; count < 10; count += 1)
      notify(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params }))
  }, 100)
